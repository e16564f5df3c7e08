//! Each public item of the crates says what it is.
//!
//! The compiler's own lint sees only what is reachable in the features that were built; this check
//! reads every file. A file that no module declares is reported too: nobody would read it.

use std::path::Path;

use anyhow::Result;

use super::{Finding, items};

pub(super) fn check(root: &Path) -> Result<Vec<Finding>> {
    let sources = items::read_crates(root)?;
    let mut findings: Vec<Finding> = sources
        .orphans
        .iter()
        .map(|file| {
            Finding::new(file, 1, "no module declares this file")
                .hint("add a `mod` line for it, or remove it")
        })
        .collect();
    for item in &sources.items {
        if item.public && !item.documented {
            let what = format!("public {} `{}` has no doc comment", item.kind, item.name);
            let hint = match item.kind {
                "module" => "open the module's file with a `//!` line that says what it holds",
                _ => "say what it is in a `///` line, or make it `pub(crate)`",
            };
            findings.push(Finding::new(&item.file, item.line, what).hint(hint));
        }
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Tree, lines};
    use super::*;

    /// The first lines of what is found in one library file.
    fn found(text: &str) -> Vec<String> {
        let tree = Tree::new(&[("crates/a/src/lib.rs", text)]);
        first_lines(&tree)
    }

    fn first_lines(tree: &Tree) -> Vec<String> {
        let found = lines(&check(tree.root()).unwrap());
        found
            .iter()
            .map(|finding| finding.lines().next().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn documented_items_pass() {
        let text = r#"
            //! A crate.
            /// A function.
            pub fn f() {}
            /// A struct.
            pub struct S {
                /// A field.
                pub a: u8,
                b: u8,
                pub(crate) c: u8,
            }
            /// A tuple, whose parts it explains.
            pub struct T(pub u8);
            /// An enum.
            pub enum E {
                /// A variant.
                V {
                    /// Its field.
                    x: u8,
                },
            }
            impl S {
                /// A method.
                pub fn m(&self) {}
                fn private(&self) {}
            }
            impl Clone for S {
                fn clone(&self) -> Self { loop {} }
            }
            /// A trait.
            pub trait R {
                /// A constant.
                const C: u8;
                /// A type.
                type T;
                /// A method.
                fn m();
            }
            #[doc = include_str!("notes.md")]
            pub const C: u8 = 0;
            #[doc(hidden)]
            pub type Hidden = u8;
            /// A macro.
            #[macro_export]
            macro_rules! exported { () => {} }
            macro_rules! internal { () => {} }
            pub use std::mem::swap;
            pub(crate) fn g() {}
            struct Private {
                pub a: u8,
            }
            pub mod inline {
                //! A module.
            }
            #[cfg(test)]
            pub mod tests {
                pub fn undocumented() {}
            }
            #[cfg(all(test, unix))]
            pub fn also_undocumented() {}
        "#;
        assert_eq!(found(text), [""; 0]);
    }

    #[test]
    fn each_undocumented_item_is_found() {
        for (text, what) in [
            ("pub fn f() {}", "function `f`"),
            ("pub const C: u8 = 0;", "constant `C`"),
            ("pub static X: u8 = 0;", "static `X`"),
            ("pub type T = u8;", "type `T`"),
            ("pub struct S;", "struct `S`"),
            ("pub enum E {}", "enum `E`"),
            ("pub trait R {}", "trait `R`"),
            ("pub mod m {}", "module `m`"),
            ("#[macro_export] macro_rules! x { () => {} }", "macro `x`"),
            ("/// D.\npub struct S { pub a: u8 }", "field `a`"),
            ("/// D.\npub enum E { V }", "variant `V`"),
            ("/// D.\npub enum E { /** D. */ V { x: u8 } }", "field `x`"),
            ("/// D.\npub trait R { fn m(); }", "trait method `m`"),
            ("/// D.\npub trait R { const C: u8; }", "trait constant `C`"),
            ("/// D.\npub trait R { type T; }", "trait type `T`"),
            ("impl S { pub fn r#type() {} }", "method `type`"),
            ("impl S { pub const C: u8 = 0; }", "constant `C`"),
            ("mod m { pub fn f() {} }", "function `f`"),
            ("///\npub fn f() {}", "function `f`"),
            ("#[doc(alias = \"x\")]\npub fn f() {}", "function `f`"),
            ("#[cfg(any(test, unix))]\npub fn f() {}", "function `f`"),
        ] {
            let line = text.lines().count();
            let expected = format!("crates/a/src/lib.rs:{line}: public {what} has no doc comment");
            assert_eq!(found(text), [expected], "{text}");
        }
    }

    #[test]
    fn the_hint_says_what_to_do() {
        let tree = Tree::new(&[("crates/a/src/lib.rs", "pub fn f() {}")]);
        let found = lines(&check(tree.root()).unwrap());
        assert!(
            found[0].ends_with("\n  hint: say what it is in a `///` line, or make it `pub(crate)`"),
            "{found:?}"
        );
    }

    #[test]
    fn modules_in_files_are_followed() {
        let tree = Tree::new(&[
            (
                "crates/a/src/lib.rs",
                "pub mod b; mod c; #[cfg(test)] mod tests; #[path = \"odd.rs\"] mod d;",
            ),
            ("crates/a/src/b.rs", "//! Documents itself.\npub mod inner;"),
            ("crates/a/src/b/inner.rs", "pub fn f() {}"),
            ("crates/a/src/c/mod.rs", "pub fn g() {}"),
            ("crates/a/src/tests.rs", "pub mod more;"),
            ("crates/a/src/tests/more.rs", "pub fn undocumented() {}"),
            ("crates/a/src/odd.rs", "pub fn h() {}"),
            ("crates/a/src/bin/tool.rs", "pub fn i() {}"),
        ]);
        assert_eq!(
            first_lines(&tree),
            [
                "crates/a/src/b/inner.rs:1: public function `f` has no doc comment",
                "crates/a/src/b.rs:2: public module `inner` has no doc comment",
                "crates/a/src/c/mod.rs:1: public function `g` has no doc comment",
                "crates/a/src/odd.rs:1: public function `h` has no doc comment",
                "crates/a/src/bin/tool.rs:1: public function `i` has no doc comment",
            ]
        );
    }

    #[test]
    fn a_file_of_no_module_is_found() {
        let tree = Tree::new(&[("crates/a/src/lib.rs", ""), ("crates/a/src/lost.rs", "")]);
        assert_eq!(
            first_lines(&tree),
            ["crates/a/src/lost.rs:1: no module declares this file"]
        );
    }

    #[test]
    fn a_file_that_is_not_rust_is_an_error_with_its_place() {
        let tree = Tree::new(&[("crates/a/src/lib.rs", "\nfn {")]);
        let error = check(tree.root()).unwrap_err().to_string();
        assert!(
            error.starts_with("crates/a/src/lib.rs:2: cannot be parsed: "),
            "{error}"
        );
    }
}
