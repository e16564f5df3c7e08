//! Each `configs/*.toml` opens with a comment that says what to run, how long it takes and what to
//! expect:
//!
//! ```text
//! # command: mpu-cli run configs/table1.toml
//! # time: 40 minutes on two cores
//! # expect: accuracy 90 to 92 for csmpu-abs
//! ```

use std::path::Path;

use anyhow::Result;

use super::{Finding, files};

const KEYS: [&str; 3] = ["command", "time", "expect"];

pub(super) fn check(root: &Path) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for path in files::entries(&root.join("configs"))? {
        if files::has_extension(&path, "toml") {
            let file = files::relative(root, &path);
            findings.extend(check_header(&file, &files::read(&path)?));
        }
    }
    Ok(findings)
}

fn check_header(file: &str, text: &str) -> Vec<Finding> {
    let header = text.lines().map_while(|line| line.strip_prefix('#'));
    let header: Vec<&str> = header.collect();
    if header.is_empty() {
        return vec![
            Finding::new(file, 1, "the file does not open with a comment header")
                .hint("begin with lines `# command: …`, `# time: …` and `# expect: …`"),
        ];
    }
    KEYS.iter()
        .filter_map(|key| check_key(file, &header, key))
        .collect()
}

fn check_key(file: &str, header: &[&str], key: &str) -> Option<Finding> {
    let found = header.iter().enumerate().find_map(|(index, line)| {
        let value = line.trim().strip_prefix(key)?.strip_prefix(':')?;
        Some((index + 1, value.trim()))
    });
    match found {
        None => {
            let finding = Finding::new(file, 1, format!("the header has no `{key}:` line"));
            let hint = format!("add `# {key}: …` to the comment that opens the file");
            Some(finding.hint(hint))
        }
        Some((line, "")) => Some(Finding::new(file, line, format!("`{key}:` says nothing"))),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Tree, lines};
    use super::*;

    const GOOD: &str = "# Smoke test.\n#\n# command: mpu-cli run configs/smoke.toml\n\
        # time: 20 seconds\n# expect: accuracy above 80\n\nname = \"smoke\"\n";

    fn found(text: &str) -> Vec<String> {
        let tree = Tree::new(&[("configs/smoke.toml", text)]);
        lines(&check(tree.root()).unwrap())
    }

    #[test]
    fn no_configs_are_no_fault_and_other_files_are_not_configs() {
        let tree = Tree::new(&[("configs/README.md", "text")]);
        assert_eq!(check(tree.root()).unwrap(), []);
        assert_eq!(check(&tree.root().join("nowhere")).unwrap(), []);
    }

    #[test]
    fn what_a_header_lacks_is_found() {
        assert_eq!(found(GOOD), [""; 0]);
        let below = GOOD.replace("# time: 20 seconds\n", "") + "# time: 20 seconds\n";
        for (text, wanted) in [
            (
                GOOD.replace("time: 20 seconds", "time:"),
                "4: `time:` says nothing",
            ),
            (
                format!("name = 1\n{GOOD}"),
                "1: the file does not open with a comment header\n  \
                 hint: begin with lines `# command: …`, `# time: …` and `# expect: …`",
            ),
            (
                below,
                "1: the header has no `time:` line\n  \
                 hint: add `# time: …` to the comment that opens the file",
            ),
        ] {
            assert_eq!(found(&text), [format!("configs/smoke.toml:{wanted}")]);
        }
        for key in KEYS {
            let text = GOOD.replace(&format!("{key}:"), "other:");
            let [found] = &found(&text)[..] else {
                panic!("{key}");
            };
            let wanted = format!("configs/smoke.toml:1: the header has no `{key}:` line\n");
            assert!(found.starts_with(&wanted), "{found}");
        }
    }
}
