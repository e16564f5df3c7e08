//! `cargo xtask tidy`: house rules as checks.
//!
//! Each check is one function from the root of a tree to its findings, so that tests can feed it
//! a small tree of their own.
//!
//! | module | rule |
//! |---|---|
//! | [`graph`] | the crate graph drawn in ARCHITECTURE.md is the real one |
//! | [`ledger`] | each equation has one row in docs/EQUATIONS.md, one home in the code, and a test |
//! | [`configs`] | each configuration opens by saying what to run, how long it takes, what to expect |
//! | [`sources`] | each file of a crate is one of its modules |
//! | [`text`] | no path of one machine, no unfinished code |

mod configs;
mod files;
mod graph;
mod ledger;
mod sources;
mod text;

use std::fmt;
use std::path::Path;

use anyhow::Result;

/// Something that breaks a house rule, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    file: String,
    line: usize,
    what: String,
    hint: Option<String>,
}

impl Finding {
    fn new(file: impl Into<String>, line: usize, what: impl Into<String>) -> Self {
        Self {
            file: file.into(),
            line,
            what: what.into(),
            hint: None,
        }
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.what)?;
        if let Some(hint) = &self.hint {
            write!(f, "\n  hint: {hint}")?;
        }
        Ok(())
    }
}

/// What a whole run of the checks found.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) findings: Vec<Finding>,
    text_skipped: bool,
}

impl Report {
    /// One line for a tree with no findings.
    pub(crate) fn summary(&self) -> String {
        let text = if self.text_skipped {
            "text skipped: not a git tree"
        } else {
            "text"
        };
        format!("tidy: in order (crate graph, equation ledger, configs, modules, {text})")
    }
}

/// Runs every check on the workspace at `root`.
pub(crate) fn run(root: &Path) -> Result<Report> {
    let mut findings = graph::check(root)?;
    findings.extend(ledger::check(root)?);
    findings.extend(configs::check(root)?);
    findings.extend(sources::check(root)?);
    let text = text::check(root)?;
    let text_skipped = text.is_none();
    findings.extend(text.into_iter().flatten());
    Ok(Report {
        findings,
        text_skipped,
    })
}

#[cfg(test)]
mod testing {
    use std::path::Path;

    use super::Finding;

    /// A tree of files in a temporary directory.
    pub(super) struct Tree(tempfile::TempDir);

    impl Tree {
        pub(super) fn new(files: &[(&str, &str)]) -> Self {
            let tree = Self(tempfile::tempdir().unwrap());
            for (path, text) in files {
                tree.write(path, text);
            }
            tree
        }

        pub(super) fn write(&self, path: &str, text: &str) {
            let path = self.root().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }

        pub(super) fn root(&self) -> &Path {
            self.0.path()
        }
    }

    /// The findings as printed.
    pub(super) fn lines(findings: &[Finding]) -> Vec<String> {
        findings.iter().map(ToString::to_string).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_a_place_a_fault_and_a_hint() {
        let finding = Finding::new("a.rs", 3, "something is wrong");
        assert_eq!(finding.to_string(), "a.rs:3: something is wrong");
        assert_eq!(
            finding.hint("put it right").to_string(),
            "a.rs:3: something is wrong\n  hint: put it right"
        );
    }

    #[test]
    fn the_summary_says_what_was_not_checked() {
        let report = |text_skipped| Report {
            findings: Vec::new(),
            text_skipped,
        };
        assert!(report(false).summary().ends_with("modules, text)"));
        assert!(report(true).summary().contains("text skipped"));
    }
}
