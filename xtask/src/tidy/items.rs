//! The items of the crates' sources, read along the module tree: what they are called, where they
//! stand, whether users see them, and what their attributes say.
//!
//! Test-only code is left out, and so is what a macro call expands to.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use proc_macro2::Ident;
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Attribute, Fields, ImplItem, Meta, TraitItem, Visibility};

use super::attrs::{aliases, is_documented, is_test_only, text};
use super::files;

/// One item of the sources outside test-only code.
#[derive(Debug)]
pub(super) struct Item {
    /// What it is, as a word.
    pub(super) kind: &'static str,
    pub(super) name: String,
    /// Where it stands: crate, modules, type, name.
    pub(super) path: String,
    pub(super) file: String,
    pub(super) line: usize,
    /// Whether it is written as part of the public surface.
    pub(super) public: bool,
    pub(super) documented: bool,
    /// The names given by `#[doc(alias = "…")]`.
    pub(super) aliases: Vec<String>,
}

/// Everything found in the sources of the crates.
#[derive(Debug, Default)]
pub(super) struct Sources {
    pub(super) items: Vec<Item>,
    /// Files that no module declares.
    pub(super) orphans: Vec<String>,
}

/// Reads `crates/*/src` under `root`.
pub(super) fn read_crates(root: &Path) -> Result<Sources> {
    let mut sources = Sources::default();
    for package in files::entries(&root.join("crates"))? {
        let src = package.join("src");
        let krate = files::relative(&root.join("crates"), &package).replace('-', "_");
        let mut walk = Walk {
            root,
            items: Vec::new(),
            seen: BTreeSet::new(),
        };
        let mut targets = vec![src.join("lib.rs"), src.join("main.rs")];
        for path in files::entries(&src.join("bin"))? {
            targets.push(if path.is_dir() {
                path.join("main.rs")
            } else {
                path
            });
        }
        for path in targets.iter().filter(|path| path.is_file()) {
            walk.file(path, directory(path), &krate, false)?;
        }
        for path in files::rust_files(&src)? {
            if !walk.seen.iter().any(|(seen, _)| *seen == path) {
                sources.orphans.push(files::relative(root, &path));
            }
        }
        sources.items.append(&mut walk.items);
    }
    Ok(sources)
}

fn directory(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

/// A walk along one crate's module tree.
struct Walk<'a> {
    root: &'a Path,
    items: Vec<Item>,
    /// Files already read, and whether as test-only code.
    seen: BTreeSet<(PathBuf, bool)>,
}

/// Where the walk stands.
#[derive(Clone, Copy)]
struct Place<'a> {
    file: &'a Path,
    /// Where the files of modules declared here are.
    children: &'a Path,
    /// The path of the crate, module or type whose items these are.
    scope: &'a str,
    test: bool,
}

impl Place<'_> {
    fn below(self, attrs: &[Attribute]) -> Self {
        Self {
            test: self.test || is_test_only(attrs),
            ..self
        }
    }

    fn path_of(self, name: &Ident) -> String {
        format!("{}::{}", self.scope, name.unraw())
    }
}

impl Walk<'_> {
    /// Reads one file and the modules it declares; says whether the file documents itself.
    fn file(&mut self, path: &Path, children: &Path, scope: &str, test: bool) -> Result<bool> {
        let parsed = syn::parse_file(&files::read(path)?).map_err(|error| {
            let file = files::relative(self.root, path);
            anyhow!(
                "{file}:{}: cannot be parsed: {error}",
                error.span().start().line
            )
        })?;
        let at = Place {
            file: path,
            children,
            scope,
            test,
        };
        let at = at.below(&parsed.attrs);
        if self.seen.insert((path.to_path_buf(), at.test)) {
            self.items(&parsed.items, at)?;
        }
        Ok(is_documented(&parsed.attrs))
    }

    fn items(&mut self, items: &[syn::Item], at: Place<'_>) -> Result<()> {
        for item in items {
            self.item(item, at)?;
        }
        Ok(())
    }

    fn item(&mut self, item: &syn::Item, at: Place<'_>) -> Result<()> {
        use syn::Item;
        match item {
            Item::Const(i) => self.add(at, "constant", &i.ident, &i.attrs, is_pub(&i.vis)),
            Item::Static(i) => self.add(at, "static", &i.ident, &i.attrs, is_pub(&i.vis)),
            Item::Fn(i) => self.add(at, "function", &i.sig.ident, &i.attrs, is_pub(&i.vis)),
            Item::Type(i) => self.add(at, "type", &i.ident, &i.attrs, is_pub(&i.vis)),
            Item::Struct(i) => {
                self.add(at, "struct", &i.ident, &i.attrs, is_pub(&i.vis));
                let public = |vis: &Visibility| is_pub(&i.vis) && is_pub(vis);
                let scope = at.path_of(&i.ident);
                let inside = Place {
                    scope: &scope,
                    ..at.below(&i.attrs)
                };
                self.fields(inside, &i.fields, public);
            }
            Item::Enum(i) => self.enumeration(i, at),
            Item::Trait(i) => self.trait_(i, at),
            Item::Impl(i) => self.impl_(i, at),
            Item::Macro(i) => {
                if let Some(name) = &i.ident {
                    let exported = i.attrs.iter().any(|a| a.path().is_ident("macro_export"));
                    self.add(at, "macro", name, &i.attrs, exported);
                }
            }
            Item::Mod(i) => self.module(i, at)?,
            // Uses and `extern crate` name what stands elsewhere; the rest is not used here.
            _ => {}
        }
        Ok(())
    }

    fn module(&mut self, module: &syn::ItemMod, at: Place<'_>) -> Result<()> {
        let at = at.below(&module.attrs);
        let scope = at.path_of(&module.ident);
        let mut documented = is_documented(&module.attrs);
        if let Some((_, items)) = &module.content {
            let children = at.children.join(module.ident.unraw().to_string());
            let inside = Place {
                children: &children,
                scope: &scope,
                ..at
            };
            self.items(items, inside)?;
        } else if let Some((path, children)) = module_file(module, at) {
            documented |= self.file(&path, &children, &scope, at.test)?;
        }
        let public = is_pub(&module.vis);
        self.push(
            at,
            "module",
            &module.ident,
            documented,
            &module.attrs,
            public,
        );
        Ok(())
    }

    fn enumeration(&mut self, item: &syn::ItemEnum, at: Place<'_>) {
        let public = is_pub(&item.vis);
        self.add(at, "enum", &item.ident, &item.attrs, public);
        let scope = at.path_of(&item.ident);
        let at = Place {
            scope: &scope,
            ..at.below(&item.attrs)
        };
        for variant in &item.variants {
            self.add(at, "variant", &variant.ident, &variant.attrs, public);
            let scope = at.path_of(&variant.ident);
            let inside = Place {
                scope: &scope,
                ..at.below(&variant.attrs)
            };
            // Fields of a variant are as public as the enum.
            self.fields(inside, &variant.fields, |_| public);
        }
    }

    /// Named fields count; what stands at a position of a tuple is explained by the tuple's doc.
    fn fields(&mut self, at: Place<'_>, fields: &Fields, public: impl Fn(&Visibility) -> bool) {
        for (index, field) in fields.iter().enumerate() {
            let public = field.ident.is_some() && public(&field.vis);
            let name = field
                .ident
                .clone()
                .unwrap_or_else(|| Ident::new(&format!("_{index}"), field.span()));
            self.add(at, "field", &name, &field.attrs, public);
        }
    }

    fn trait_(&mut self, item: &syn::ItemTrait, at: Place<'_>) {
        let public = is_pub(&item.vis);
        self.add(at, "trait", &item.ident, &item.attrs, public);
        let scope = at.path_of(&item.ident);
        let at = Place {
            scope: &scope,
            ..at.below(&item.attrs)
        };
        for item in &item.items {
            match item {
                TraitItem::Const(i) => self.add(at, "trait constant", &i.ident, &i.attrs, public),
                TraitItem::Fn(i) => self.add(at, "trait method", &i.sig.ident, &i.attrs, public),
                TraitItem::Type(i) => self.add(at, "trait type", &i.ident, &i.attrs, public),
                _ => {}
            }
        }
    }

    /// What a trait's implementation holds is documented by the trait, so none of it is public here.
    fn impl_(&mut self, item: &syn::ItemImpl, at: Place<'_>) {
        let public = |vis: &Visibility| item.trait_.is_none() && is_pub(vis);
        let scope = match &*item.self_ty {
            syn::Type::Path(ty) => ty
                .path
                .segments
                .last()
                .map(|segment| at.path_of(&segment.ident)),
            _ => None,
        };
        let scope = scope.unwrap_or_else(|| at.scope.to_owned());
        let at = Place {
            scope: &scope,
            ..at.below(&item.attrs)
        };
        for item in &item.items {
            match item {
                ImplItem::Const(i) => self.add(at, "constant", &i.ident, &i.attrs, public(&i.vis)),
                ImplItem::Fn(i) => self.add(at, "method", &i.sig.ident, &i.attrs, public(&i.vis)),
                ImplItem::Type(i) => self.add(at, "type", &i.ident, &i.attrs, public(&i.vis)),
                _ => {}
            }
        }
    }

    fn add(
        &mut self,
        at: Place<'_>,
        kind: &'static str,
        name: &Ident,
        attrs: &[Attribute],
        public: bool,
    ) {
        self.push(
            at.below(attrs),
            kind,
            name,
            is_documented(attrs),
            attrs,
            public,
        );
    }

    fn push(
        &mut self,
        at: Place<'_>,
        kind: &'static str,
        name: &Ident,
        documented: bool,
        attrs: &[Attribute],
        public: bool,
    ) {
        if at.test {
            return;
        }
        self.items.push(Item {
            kind,
            name: name.unraw().to_string(),
            path: at.path_of(name),
            file: files::relative(self.root, at.file),
            line: name.span().start().line,
            public,
            documented,
            aliases: aliases(attrs),
        });
    }
}

/// The file of `mod name;`, and where its own children are.
fn module_file(module: &syn::ItemMod, at: Place<'_>) -> Option<(PathBuf, PathBuf)> {
    let name = module.ident.unraw().to_string();
    let stated = module.attrs.iter().find_map(|attr| match &attr.meta {
        Meta::NameValue(pair) if pair.path.is_ident("path") => text(&pair.value),
        _ => None,
    });
    let nested = at.children.join(&name);
    let candidates = match stated {
        Some(path) => {
            let path = directory(at.file).join(path);
            let children = directory(&path).to_path_buf();
            vec![(path, children)]
        }
        None => vec![
            (at.children.join(format!("{name}.rs")), nested.clone()),
            (nested.join("mod.rs"), nested),
        ],
    };
    candidates.into_iter().find(|(path, _)| path.is_file())
}

fn is_pub(vis: &Visibility) -> bool {
    matches!(vis, Visibility::Public(_))
}
