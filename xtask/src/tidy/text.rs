//! No tracked text file names a path of one machine or leaves code unfinished.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::{Finding, files};

/// Top-level directories whose absolute paths belong to one machine. The slashes are added when a
/// line is searched, so that this list does not match itself.
const MACHINE_DIRS: [&str; 3] = ["root", "work", "home"];

/// The macro for code that is yet to be written, in two parts for the same reason.
const UNFINISHED: &str = concat!("todo", "!(");

/// The findings, or nothing where `root` is not in a git tree and there is no list of files.
pub(super) fn check(root: &Path) -> Result<Option<Vec<Finding>>> {
    let Some(tracked) = tracked_files(root)? else {
        return Ok(None);
    };
    let mut findings = Vec::new();
    for file in tracked {
        let path = root.join(&file);
        // A file may be deleted and still tracked, or be a link to a directory.
        if !path.is_file() {
            continue;
        }
        let bytes = std::fs::read(&path).with_context(|| format!("cannot read {file}"))?;
        if let Ok(text) = String::from_utf8(bytes) {
            findings.extend(check_text(&file, &text));
        }
    }
    Ok(Some(findings))
}

fn tracked_files(root: &Path) -> Result<Option<Vec<String>>> {
    let output = git(root).args(["ls-files", "-z"]).output();
    let output = output.context("cannot run git")?;
    if !output.status.success() {
        return Ok(None);
    }
    let list = String::from_utf8(output.stdout).context("a tracked file's name is not UTF-8")?;
    let names = list.split_terminator('\0');
    let names = names.map(|name| files::relative(root, Path::new(name)));
    Ok(Some(names.collect()))
}

/// git at `root`, whichever repository a surrounding hook has set in the environment.
fn git(root: &Path) -> Command {
    let mut git = Command::new("git");
    git.arg("-C").arg(root);
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
        git.env_remove(variable);
    }
    git
}

fn check_text(file: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for dir in MACHINE_DIRS {
            let pattern = format!("/{dir}/");
            let mut places = line.match_indices(&pattern);
            if places.any(|(at, _)| is_absolute(line, at)) {
                let what = format!("`{pattern}` is a path of one machine");
                let hint = "use a path from the workspace root, a flag or an environment variable";
                findings.push(Finding::new(file, index + 1, what).hint(hint));
            }
        }
        if line.contains(UNFINISHED) {
            let what = format!("unfinished code: `{UNFINISHED}…)`");
            let hint = "finish it, or return an error that says what is missing";
            findings.push(Finding::new(file, index + 1, what).hint(hint));
        }
    }
    findings
}

/// Whether the path that has a slash at byte `at` begins there, rather than going on from a name,
/// a host, a variable or `~`.
fn is_absolute(line: &str, at: usize) -> bool {
    let before = line[..at].chars().next_back();
    !before.is_some_and(|c| c.is_alphanumeric() || "._-~})>*".contains(c))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Tree, lines};
    use super::*;

    fn tracked(files: &[(&str, &str)]) -> Tree {
        let tree = Tree::new(files);
        run_git(&tree, &["init", "--quiet"]);
        run_git(&tree, &["add", "."]);
        tree
    }

    fn run_git(tree: &Tree, arguments: &[&str]) {
        assert!(git(tree.root()).args(arguments).status().unwrap().success());
    }

    #[test]
    fn plain_text_passes() {
        let tree = tracked(&[
            ("README.md", "run it from the root\n"),
            ("src/lib.rs", "fn done() {}\n"),
        ]);
        assert_eq!(check(tree.root()).unwrap(), Some(Vec::new()));
    }

    #[test]
    fn outside_a_git_tree_the_check_is_skipped() {
        let tree = Tree::new(&[("README.md", &format!("/{}/me\n", "home"))]);
        assert_eq!(check(tree.root()).unwrap(), None);
    }

    #[test]
    fn paths_of_a_machine_and_unfinished_code_are_found() {
        let path = |dir: &str| {
            let hint = "use a path from the workspace root, a flag or an environment variable";
            let what = format!("`/{dir}/` is a path of one machine\n  hint: {hint}");
            (format!("first\nsee \"/{dir}/data/x.csv\"\n"), what)
        };
        let unfinished = (
            format!("fn later() {{\n    {UNFINISHED})\n}}\n"),
            format!(
                "unfinished code: `{UNFINISHED}…)`\n  \
                 hint: finish it, or return an error that says what is missing"
            ),
        );
        for (text, wanted) in MACHINE_DIRS.map(path).into_iter().chain([unfinished]) {
            let tree = tracked(&[("docs/notes.md", &text)]);
            let found = lines(&check(tree.root()).unwrap().unwrap());
            assert_eq!(found, [format!("docs/notes.md:2: {wanted}")]);
        }
    }

    #[test]
    fn a_path_below_something_else_is_not_absolute() {
        for start in ["https://example.org", "~", "$HOME", "${DIR}", "..", "<dir>"] {
            for dir in MACHINE_DIRS {
                let text = format!("{start}/{dir}/x\n");
                assert_eq!(check_text("a.md", &text), [], "{text}");
            }
        }
        for start in ["", "file://", "path=", "(", "`"] {
            let text = format!("{start}/{}/x\n", MACHINE_DIRS[0]);
            assert_eq!(check_text("a.md", &text).len(), 1, "{text}");
        }
    }

    #[test]
    fn untracked_and_binary_files_are_not_read() {
        let tree = tracked(&[("kept.md", "text\n")]);
        tree.write("new.md", &format!("/{}/me\n", "home"));
        let binary = [b"\xff ", format!("/{}/me", "home").as_bytes()].concat();
        std::fs::write(tree.root().join("data.bin"), binary).unwrap();
        run_git(&tree, &["add", "data.bin"]);
        std::fs::remove_file(tree.root().join("kept.md")).unwrap();
        assert_eq!(check(tree.root()).unwrap(), Some(Vec::new()));
    }

    #[test]
    fn these_patterns_do_not_match_themselves() {
        assert_eq!(check_text("text.rs", include_str!("text.rs")), []);
    }
}
