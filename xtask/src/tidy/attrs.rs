//! What the attributes of an item say.

use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, Lit, LitStr, Meta, Token};

/// The value of a string literal.
pub(super) fn text(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Str(text) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}

/// What stands in the brackets of `name(…)`, where it has the usual shape.
fn nested(meta: &Meta) -> Vec<Meta> {
    let parser = Punctuated::<Meta, Token![,]>::parse_terminated;
    match meta {
        Meta::List(list) => list
            .parse_args_with(parser)
            .map_or_else(|_| Vec::new(), |metas| metas.into_iter().collect()),
        _ => Vec::new(),
    }
}

/// Whether some doc comment has words, or the item is hidden from the docs on purpose.
pub(super) fn is_documented(attrs: &[Attribute]) -> bool {
    let mut docs = attrs.iter().filter(|attr| attr.path().is_ident("doc"));
    docs.any(|attr| match &attr.meta {
        // Anything but a literal is an `include_str!` or the like.
        Meta::NameValue(pair) => text(&pair.value).is_none_or(|doc| !doc.trim().is_empty()),
        meta => nested(meta).iter().any(|m| m.path().is_ident("hidden")),
    })
}

/// The names in `#[doc(alias = "a")]` and `#[doc(alias("a", "b"))]`.
pub(super) fn aliases(attrs: &[Attribute]) -> Vec<String> {
    let docs = attrs.iter().filter(|attr| attr.path().is_ident("doc"));
    let metas = docs.flat_map(|attr| nested(&attr.meta));
    let mut names = Vec::new();
    for meta in metas.filter(|meta| meta.path().is_ident("alias")) {
        match &meta {
            Meta::NameValue(pair) => names.extend(text(&pair.value)),
            Meta::List(list) => {
                let parser = Punctuated::<LitStr, Token![,]>::parse_terminated;
                if let Ok(list) = list.parse_args_with(parser) {
                    names.extend(list.iter().map(LitStr::value));
                }
            }
            Meta::Path(_) => {}
        }
    }
    names
}

/// Whether the item is compiled for tests only.
pub(super) fn is_test_only(attrs: &[Attribute]) -> bool {
    let mut cfgs = attrs.iter().filter(|attr| attr.path().is_ident("cfg"));
    cfgs.any(|attr| nested(&attr.meta).iter().any(needs_test))
}

/// Whether a `cfg` predicate can hold in test builds only.
fn needs_test(predicate: &Meta) -> bool {
    let parts = nested(predicate);
    if predicate.path().is_ident("all") {
        parts.iter().any(needs_test)
    } else if predicate.path().is_ident("any") {
        !parts.is_empty() && parts.iter().all(needs_test)
    } else {
        matches!(predicate, Meta::Path(path) if path.is_ident("test"))
    }
}
