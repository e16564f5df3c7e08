//! The crate graph drawn in ARCHITECTURE.md is the real one.
//!
//! The drawing is the block fenced as `text crate-graph`, one line per crate:
//!
//! ```text
//! mpu-data -> (none)
//! mpu-risk -> mpu-data, mpu-loss, candle
//! ```
//!
//! Arrows are normal dependencies between crates of the workspace; `candle` stands for any direct
//! dependency on a package of candle. Tests and build scripts may use what they like.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::{Finding, files};

const DOCUMENT: &str = "ARCHITECTURE.md";
const FENCE: &str = "```text crate-graph";
const NONE: &str = "(none)";

/// What each crate of the workspace depends on.
type Graph = BTreeMap<String, BTreeSet<String>>;

pub(super) fn check(root: &Path) -> Result<Vec<Finding>> {
    let real = parse_metadata(&run_cargo_metadata(root)?)?;
    let Some(document) = files::read_if_there(&root.join(DOCUMENT))? else {
        return Ok(vec![
            Finding::new(DOCUMENT, 1, "the file is missing")
                .hint(format!("write it, with a block fenced as {FENCE}")),
        ]);
    };
    Ok(compare(&document, &real))
}

fn run_cargo_metadata(root: &Path) -> Result<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let metadata = "metadata --no-deps --offline --format-version 1 --manifest-path";
    let output = Command::new(cargo)
        .args(metadata.split(' '))
        .arg(root.join("Cargo.toml"))
        .output()
        .context("cannot run cargo metadata")?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        bail!("cargo metadata failed: {}", message.trim());
    }
    String::from_utf8(output.stdout).context("the output of cargo metadata is not UTF-8")
}

/// The graph in the output of `cargo metadata --no-deps`, which lists the workspace's packages only.
fn parse_metadata(json: &str) -> Result<Graph> {
    let metadata: Value = serde_json::from_str(json).context("cargo metadata is not JSON")?;
    let packages = list(&metadata, "packages")?;
    let names = packages.iter().map(name).collect::<Result<BTreeSet<_>>>()?;
    let mut graph = Graph::new();
    for package in packages {
        let mut targets = BTreeSet::new();
        for dependency in list(package, "dependencies")? {
            // A normal dependency has no kind; the others are "dev" and "build".
            if !dependency["kind"].is_null() {
                continue;
            }
            let target = name(dependency)?;
            if target.starts_with("candle-") {
                targets.insert("candle".to_owned());
            } else if names.contains(target) {
                targets.insert(target.to_owned());
            }
        }
        graph.insert(name(package)?.to_owned(), targets);
    }
    Ok(graph)
}

fn list<'a>(value: &'a Value, key: &str) -> Result<&'a Vec<Value>> {
    value[key]
        .as_array()
        .with_context(|| format!("cargo metadata has no list `{key}`"))
}

fn name(value: &Value) -> Result<&str> {
    value["name"]
        .as_str()
        .context("cargo metadata has an entry without a name")
}

fn compare(document: &str, real: &Graph) -> Vec<Finding> {
    let mut lines = document.lines().enumerate();
    let Some((fence, _)) = lines.find(|(_, line)| line.trim_end() == FENCE) else {
        return vec![
            Finding::new(DOCUMENT, 1, format!("there is no block fenced as {FENCE}"))
                .hint("add one line per crate: `name -> crate, crate` or `name -> (none)`"),
        ];
    };
    let mut findings = Vec::new();
    let mut drawn = BTreeSet::new();
    for (index, line) in lines.take_while(|(_, line)| !line.starts_with("```")) {
        if line.trim().is_empty() {
            continue;
        }
        let finding = |what: String| Finding::new(DOCUMENT, index + 1, what);
        let Some((krate, targets)) = parse_line(line) else {
            let what = format!("`{}` is not a line of the crate graph", line.trim());
            let hint = "write `name -> crate, crate` or `name -> (none)`";
            findings.push(finding(what).hint(hint));
            continue;
        };
        if !drawn.insert(krate) {
            findings.push(finding(format!("`{krate}` is drawn twice")));
            continue;
        }
        let Some(real_targets) = real.get(krate) else {
            let what = format!("`{krate}` is not a crate of the workspace");
            findings.push(finding(what));
            continue;
        };
        for target in targets.iter().filter(|t| !real_targets.contains(**t)) {
            let what = format!("`{krate} -> {target}` is drawn but is no dependency");
            let hint = format!("write `{}`", draw(krate, real_targets));
            findings.push(finding(what).hint(hint));
        }
        let is_new = |target: &&String| !targets.contains(target.as_str());
        for target in real_targets.iter().filter(is_new) {
            let hint = format!(
                "a new arrow is a design change: drop the dependency, or write `{}`",
                draw(krate, real_targets)
            );
            findings.push(finding(format!("`{krate} -> {target}` is not drawn")).hint(hint));
        }
    }
    for (krate, targets) in real {
        if !drawn.contains(krate.as_str()) {
            let finding = Finding::new(DOCUMENT, fence + 1, format!("`{krate}` is not drawn"));
            findings.push(finding.hint(format!("add `{}`", draw(krate, targets))));
        }
    }
    findings
}

fn parse_line(line: &str) -> Option<(&str, BTreeSet<&str>)> {
    let (krate, targets) = line.split_once("->")?;
    let (krate, targets) = (krate.trim(), targets.trim());
    let targets = if targets == NONE {
        BTreeSet::new()
    } else {
        targets.split(',').map(str::trim).collect()
    };
    let named = |name: &str| !name.is_empty() && !name.contains(char::is_whitespace);
    (named(krate) && targets.iter().all(|target| named(target))).then_some((krate, targets))
}

/// The line that draws one crate, `candle` last.
fn draw(krate: &str, targets: &BTreeSet<String>) -> String {
    let mut names: Vec<&str> = targets.iter().map(String::as_str).collect();
    names.sort_by_key(|name| *name == "candle");
    let names = if names.is_empty() {
        NONE.to_owned()
    } else {
        names.join(", ")
    };
    format!("{krate} -> {names}")
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Tree, lines};
    use super::*;

    const METADATA: &str = r#"{
        "packages": [
            {"name": "mpu-data", "dependencies": [
                {"name": "serde", "kind": null},
                {"name": "candle-core", "kind": "dev"},
                {"name": "mpu-risk", "kind": "build"}
            ]},
            {"name": "mpu-risk", "dependencies": [
                {"name": "mpu-data", "kind": null},
                {"name": "candle-core", "kind": null, "optional": true},
                {"name": "candle-nn", "kind": null}
            ]}
        ]
    }"#;

    fn found(block: &str) -> Vec<String> {
        let document = format!("# Architecture\n\n{FENCE}\n{block}```\n\nmpu-x -> not read\n");
        lines(&compare(&document, &parse_metadata(METADATA).unwrap()))
    }

    #[test]
    fn only_normal_dependencies_of_the_workspace_and_candle_count() {
        let graph = parse_metadata(METADATA).unwrap();
        assert_eq!(graph["mpu-data"], BTreeSet::new());
        assert_eq!(
            draw("mpu-risk", &graph["mpu-risk"]),
            "mpu-risk -> mpu-data, candle"
        );
    }

    #[test]
    fn metadata_of_another_shape_is_an_error() {
        for (json, message) in [
            ("nonsense", "cargo metadata is not JSON"),
            ("{}", "cargo metadata has no list `packages`"),
            (
                r#"{"packages": [{}]}"#,
                "cargo metadata has an entry without a name",
            ),
        ] {
            assert_eq!(parse_metadata(json).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn a_missing_block_is_found() {
        let found = lines(&compare("# Architecture\n", &Graph::new()));
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("ARCHITECTURE.md:1: there is no block fenced as ```text"));
    }

    #[test]
    fn what_is_drawn_otherwise_is_found() {
        let cases: [(&str, &[&str]); 4] = [
            (
                "mpu-risk -> candle, mpu-data\n\nmpu-data   -> (none)\n",
                &[],
            ),
            (
                "mpu-data -> candle\nmpu-risk -> mpu-data, candle\n",
                &[
                    "4: `mpu-data -> candle` is drawn but is no dependency\n  hint: write `mpu-data -> (none)`",
                ],
            ),
            (
                "mpu-data -> (none)\nmpu-risk -> candle\n",
                &[
                    "5: `mpu-risk -> mpu-data` is not drawn\n  hint: a new arrow is a design change: drop the \
                   dependency, or write `mpu-risk -> mpu-data, candle`",
                ],
            ),
            (
                "mpu-data -> (none)\nmpu-data -> (none)\nmpu-old -> candle\n",
                &[
                    "5: `mpu-data` is drawn twice",
                    "6: `mpu-old` is not a crate of the workspace",
                    "3: `mpu-risk` is not drawn\n  hint: add `mpu-risk -> mpu-data, candle`",
                ],
            ),
        ];
        for (block, wanted) in cases {
            let wanted = wanted.iter().map(|w| format!("ARCHITECTURE.md:{w}"));
            assert_eq!(found(block), wanted.collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_line_that_draws_nothing_is_found() {
        for line in ["mpu-data", "mpu-data ->", "mpu-data -> a b", "-> candle"] {
            let found = found(&format!(
                "{line}\nmpu-data -> (none)\nmpu-risk -> mpu-data, candle\n"
            ));
            let start = format!("ARCHITECTURE.md:4: `{line}` is not a line of the crate graph");
            let [only] = &found[..] else {
                panic!("{found:?}");
            };
            assert!(only.starts_with(&start), "{only}");
        }
    }

    #[test]
    fn a_whole_tree_is_checked_with_cargo() {
        let package = |name: &str, rest: &str| {
            format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n{rest}")
        };
        let tree = Tree::new(&[
            (
                "Cargo.toml",
                "[workspace]\nresolver = \"3\"\nmembers = [\"a\", \"b\"]\n",
            ),
            (
                "a/Cargo.toml",
                &package("a", "[dependencies]\nb = { path = \"../b\" }\n"),
            ),
            ("a/src/lib.rs", ""),
            ("b/Cargo.toml", &package("b", "")),
            ("b/src/lib.rs", ""),
        ]);
        let begins = |start: &str| {
            let found = lines(&check(tree.root()).unwrap());
            assert!(found[0].starts_with(start), "{found:?}");
        };
        begins("ARCHITECTURE.md:1: the file is missing");

        tree.write(DOCUMENT, &format!("{FENCE}\na -> b\nb -> (none)\n```\n"));
        assert_eq!(check(tree.root()).unwrap(), []);

        let wrong = format!("{FENCE}\na -> (none)\nb -> (none)\n```\n");
        tree.write(DOCUMENT, &wrong);
        begins("ARCHITECTURE.md:2: `a -> b` is not drawn");
    }
}
