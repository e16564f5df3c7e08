//! The names of the workspace's test functions.
//!
//! Tests are often written inside macro calls such as `proptest!`, which no item parser sees into,
//! so this reads tokens: the name after `fn`, where an attribute such as `#[test]` came before.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Result, anyhow};
use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::files;

/// The test functions in `crates/*/src`, `crates/*/tests` and `tests` under `root`.
pub(super) fn names(root: &Path) -> Result<BTreeSet<String>> {
    let mut directories = vec![root.join("tests")];
    for package in files::entries(&root.join("crates"))? {
        directories.extend([package.join("src"), package.join("tests")]);
    }
    let mut names = BTreeSet::new();
    for directory in directories {
        for path in files::rust_files(&directory)? {
            let tokens: TokenStream = files::read(&path)?.parse().map_err(|error| {
                let file = files::relative(root, &path);
                anyhow!("{file}: cannot be parsed: {error}")
            })?;
            collect(tokens, &mut names);
        }
    }
    Ok(names)
}

fn collect(tokens: TokenStream, names: &mut BTreeSet<String>) {
    let mut after_hash = false;
    let mut after_fn = false;
    let mut marked = false;
    for token in tokens {
        let (was_hash, was_fn) = (after_hash, after_fn);
        (after_hash, after_fn) = (false, false);
        match token {
            TokenTree::Ident(name) if was_fn => {
                if std::mem::take(&mut marked) {
                    names.insert(name.to_string());
                }
            }
            TokenTree::Ident(word) => after_fn = word == "fn",
            TokenTree::Punct(punct) => after_hash = punct.as_char() == '#',
            TokenTree::Group(group) if was_hash && group.delimiter() == Delimiter::Bracket => {
                marked |= marks_a_test(group.stream());
            }
            TokenTree::Group(group) => {
                // A body in braces ends the item that an attribute stood on.
                marked &= group.delimiter() != Delimiter::Brace;
                collect(group.stream(), names);
            }
            TokenTree::Literal(_) => {}
        }
    }
}

/// Whether an attribute is `test`, or a path that ends so.
fn marks_a_test(attribute: TokenStream) -> bool {
    let last = attribute.into_iter().last();
    matches!(last, Some(TokenTree::Ident(word)) if word == "test")
}

#[cfg(test)]
mod tests {
    use super::super::testing::Tree;
    use super::*;

    #[test]
    fn tests_are_found_where_they_may_stand() {
        let tree = Tree::new(&[
            (
                "crates/a/src/lib.rs",
                "mod tests { #[test] fn in_src() {} }",
            ),
            ("crates/a/tests/it.rs", "#[test]\nfn in_tests() {}"),
            ("tests/it/deep.rs", "#[test] fn in_workspace() {}"),
            ("benches/b.rs", "#[test] fn in_benches() {}"),
        ]);
        let found: Vec<String> = names(tree.root()).unwrap().into_iter().collect();
        assert_eq!(found, ["in_src", "in_tests", "in_workspace"]);
    }

    #[test]
    fn only_marked_functions_are_tests() {
        let text = r##"
            // #[test] fn in_a_comment() {}
            const TEXT: &str = "#[test] fn in_a_string() {}";
            #[cfg(test)] fn helper() {}
            fn plain(values: [u8; 1]) { let test = 0; [test]; }
            fn after_an_array() {}
            #[test] mod odd {} fn after_a_body() {}
            #[test] #[ignore = "slow"] pub async fn marked_twice() {}
            #[tokio::test] fn by_path() {}
            proptest! { #![config] #[test] fn in_a_macro(z in 0..1) {} }
        "##;
        let mut names = BTreeSet::new();
        collect(text.parse().unwrap(), &mut names);
        let found: Vec<String> = names.into_iter().collect();
        assert_eq!(found, ["by_path", "in_a_macro", "marked_twice"]);
    }
}
