//! What the crates' sources say of equations and tests, and whether every file is a module of its crate.
//!
//! The text is read line by line, which is enough for what `cargo fmt` has laid out.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;

use super::{Finding, files};

/// What stands before the name of an item.
const KEYWORDS: [&str; 14] = [
    "pub", "crate", "super", "const", "static", "unsafe", "async", "fn", "struct", "enum", "trait",
    "type", "mod", "impl",
];

/// An item that carries the alias of an equation.
#[derive(Debug)]
pub(super) struct Home {
    /// The equation.
    pub(super) id: String,
    pub(super) name: String,
    /// Where it stands: crate, modules, type, name.
    pub(super) path: String,
    pub(super) file: String,
    pub(super) line: usize,
}

/// The homes of equations in `crates/*/src` under `root`.
pub(super) fn homes(root: &Path) -> Result<Vec<Home>> {
    let mut homes = Vec::new();
    for package in files::entries(&root.join("crates"))? {
        let src = package.join("src");
        let krate = files::relative(&root.join("crates"), &package).replace('-', "_");
        for path in files::rust_files(&src)? {
            let inside = files::relative(&src, &path.with_extension(""));
            let modules = inside.split('/').filter(|m| !matches!(*m, "lib" | "mod"));
            let module = [&krate[..]].into_iter().chain(modules).collect::<Vec<_>>();
            let file = files::relative(root, &path);
            homes.extend(homes_in(&files::read(&path)?, &module.join("::"), &file));
        }
    }
    Ok(homes)
}

fn homes_in(text: &str, module: &str, file: &str) -> Vec<Home> {
    let mut homes = Vec::new();
    // The type whose methods, variants or fields these lines are.
    let mut owner = None;
    // Equations whose item is yet to come.
    let mut waiting = Vec::new();
    let mut in_attribute = false;
    for (index, line) in text.lines().enumerate() {
        let start = line.trim_start();
        if let Some((_, id)) = start.split_once("#[doc(alias = \"eq:") {
            waiting.extend(id.split_once('"').map(|(id, _)| id.to_owned()));
            continue;
        }
        in_attribute |= start.starts_with("#[");
        if in_attribute {
            in_attribute = !start.ends_with(']');
            continue;
        }
        if start.is_empty() || start.starts_with("//") {
            continue;
        }
        let at_margin = start.len() == line.len();
        if at_margin {
            owner = owner_of(line);
        }
        let name = words(line).find(|word| !KEYWORDS.contains(word));
        for id in std::mem::take(&mut waiting) {
            let name = name.unwrap_or_default().to_owned();
            let owner = owner.filter(|_| !at_margin);
            let owner = owner.map(|owner| format!("::{owner}"));
            homes.push(Home {
                id,
                path: format!("{module}{}::{name}", owner.unwrap_or_default()),
                name,
                file: file.to_owned(),
                line: index + 1,
            });
        }
    }
    homes
}

/// The type that an item's first line opens, if it opens one.
fn owner_of(line: &str) -> Option<&str> {
    let opens = |word| matches!(word, "impl" | "struct" | "enum" | "trait");
    if !words(line).any(opens) {
        return None;
    }
    let (_, line) = line.rsplit_once(" for ").unwrap_or(("", line));
    let line = match line.split_once("> ") {
        Some((parameters, after)) if parameters.starts_with("impl<") && after != "{" => after,
        _ => line,
    };
    words(line).find(|word| !KEYWORDS.contains(word))
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
}

/// The names of the test functions in `crates/*/src`, `crates/*/tests` and `tests` under `root`.
pub(super) fn tests(root: &Path) -> Result<BTreeSet<String>> {
    let mut directories = vec![root.join("tests")];
    for package in files::entries(&root.join("crates"))? {
        directories.extend([package.join("src"), package.join("tests")]);
    }
    let mut names = BTreeSet::new();
    for directory in directories {
        for path in files::rust_files(&directory)? {
            names.extend(tests_in(&files::read(&path)?));
        }
    }
    Ok(names)
}

fn tests_in(text: &str) -> Vec<String> {
    let mut marked = false;
    let mut names = Vec::new();
    for line in text.lines().map(str::trim) {
        if line == "#[test]" {
            marked = true;
        } else if marked && words(line).any(|word| word == "fn") && !line.starts_with(['/', '#']) {
            marked = false;
            let name = words(line).find(|word| !KEYWORDS.contains(word));
            names.extend(name.map(str::to_owned));
        }
    }
    names
}

/// A file that no module declares: nobody would read it, the compiler included.
pub(super) fn check(root: &Path) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for package in files::entries(&root.join("crates"))? {
        let src = package.join("src");
        for path in files::rust_files(&src)? {
            let module = path.with_extension("");
            let module = if module.ends_with("mod") {
                path.parent()
            } else {
                Some(&*module)
            };
            let Some((module, folder)) = module.and_then(|m| Some((m, m.parent()?))) else {
                continue;
            };
            let name = files::relative(folder, module);
            if folder == src && matches!(&name[..], "lib" | "main") {
                continue;
            }
            let parents = ["lib.rs", "main.rs", "mod.rs"].map(|file| folder.join(file));
            let declared = format!("mod {name};");
            let mut is_declared = false;
            for parent in parents.into_iter().chain([folder.with_extension("rs")]) {
                let text = files::read_if_there(&parent)?.unwrap_or_default();
                is_declared |= text.lines().any(|line| line.ends_with(&declared));
            }
            if !is_declared {
                let file = files::relative(root, &path);
                let finding = Finding::new(file, 1, "no module declares this file");
                findings.push(finding.hint("add a `mod` line for it, or remove it"));
            }
        }
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Tree, lines};
    use super::*;

    #[test]
    fn homes_stand_in_their_crate_modules_and_type() {
        let text = r#"
#[doc(alias = "eq:a")]
#[allow(
    dead_code,
    reason = "a test"
)]
/// Words.
pub(crate) const fn first() {}

impl<'a, T: Copy> Trait<T> for Second<'a, T> {
    /// Words.
    #[doc(alias = "eq:b")]
    fn method(&self) {}
}

pub enum Third {
    #[doc(alias = "eq:c")]
    #[doc(alias = "eq:d")]
    Variant,
}

#[doc(alias = "eq:e")]
pub const FOURTH: f64 = 0.0;
"#;
        let tree = Tree::new(&[
            ("crates/a-b/src/m/mod.rs", text),
            ("crates/a-b/src/lib.rs", "mod m;"),
        ]);
        let homes = homes(tree.root()).unwrap();
        let found = homes
            .iter()
            .map(|home| format!("{} {}:{}", home.id, home.path, home.line));
        assert_eq!(
            found.collect::<Vec<_>>(),
            [
                "a a_b::m::first:8",
                "b a_b::m::Second::method:13",
                "c a_b::m::Third::Variant:19",
                "d a_b::m::Third::Variant:19",
                "e a_b::m::FOURTH:23",
            ]
        );
    }

    #[test]
    fn tests_are_found_where_they_may_stand() {
        let text = |name: &str| {
            format!(
                "proptest! {{\n    #[test]\n    fn {name}(z in 0..1) {{}}\n}}\nfn helper() {{}}\n"
            )
        };
        let tree = Tree::new(&[
            ("crates/a/src/lib.rs", &text("in_src")),
            ("crates/a/tests/it.rs", &text("in_tests")),
            (
                "tests/it/deep.rs",
                "// #[test]\n#[cfg(test)]\nfn plain() {}\n#[test]\n#[ignore = \"fn\"]\npub fn in_workspace() {}\n",
            ),
            ("benches/b.rs", &text("in_benches")),
        ]);
        let found: Vec<String> = tests(tree.root()).unwrap().into_iter().collect();
        assert_eq!(found, ["in_src", "in_tests", "in_workspace"]);
    }

    #[test]
    fn a_file_of_no_module_is_found() {
        let tree = Tree::new(&[
            (
                "crates/a/src/lib.rs",
                "pub mod b;\n#[cfg(test)]\nmod tests;\n",
            ),
            ("crates/a/src/b.rs", "mod inner;\n"),
            ("crates/a/src/b/inner.rs", ""),
            ("crates/a/src/b/lost.rs", ""),
            ("crates/a/src/tests/mod.rs", "mod more;\n"),
            ("crates/a/src/tests/more.rs", ""),
            ("crates/a/src/inner.rs", ""),
        ]);
        assert_eq!(
            lines(&check(tree.root()).unwrap()),
            ["b/lost.rs", "inner.rs"].map(|file| format!(
                "crates/a/src/{file}:1: no module declares this file\n  hint: add a `mod` line for it, or remove it"
            ))
        );
    }
}
