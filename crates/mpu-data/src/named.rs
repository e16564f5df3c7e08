//! Closed lists of names: how a choice is written in files, flags and tables, and read back.

use strsim::levenshtein;

/// A name that is not in the list it was looked up in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown {what} `{found}`: allowed are {allowed}{}",
    .nearest.as_ref().map_or(String::new(), |name| format!("\nhint: did you mean `{name}`?"))
)]
pub struct UnknownName {
    /// What the name was to name.
    pub what: &'static str,
    /// The name given.
    pub found: String,
    /// The names that exist, separated by commas.
    pub allowed: String,
    /// The nearest of them, if one is near.
    pub nearest: Option<String>,
}

impl UnknownName {
    /// The error for `found`, with the nearest allowed name when fewer than half of its letters differ.
    pub fn new(what: &'static str, found: &str, allowed: &[&str]) -> Self {
        let like = |text: &str| text.to_lowercase().replace('_', "-");
        let distance = |name: &&&str| levenshtein(&like(found), &like(name));
        let nearest = allowed.iter().min_by_key(distance);
        Self {
            what,
            found: found.to_owned(),
            allowed: allowed.join(", "),
            nearest: nearest
                .filter(|name| 2 * distance(name) < name.len())
                .map(|&name| name.to_owned()),
        }
    }
}

/// Stops the build where two values of a list have one name.
#[doc(hidden)]
pub const fn assert_distinct(names: &[&str]) {
    let mut first = 0;
    while first < names.len() {
        let mut second = first + 1;
        while second < names.len() {
            let (a, b) = (names[first].as_bytes(), names[second].as_bytes());
            let mut at = 0;
            while at < a.len() && at < b.len() && a[at] == b[at] {
                at += 1;
            }
            assert!(at < a.len() || at < b.len(), "two values have one name");
            second += 1;
        }
        first += 1;
    }
}

/// A struct whose fields stand with their defaults, from which its `Default` is made.
///
/// ```
/// mpu_data::defaults! {
///     /// A walk.
///     #[derive(Debug, PartialEq)]
///     pub struct Walk {
///         /// How far.
///         pub steps: usize = 100,
///         /// Where to.
///         pub towards: Option<&'static str> = None,
///     }
/// }
///
/// assert_eq!(Walk::default(), Walk { steps: 100, towards: None });
/// ```
#[macro_export]
macro_rules! defaults {
    ($(#[$about:meta])* $seen:vis struct $name:ident {
        $($(#[$of_field:meta])* $field_seen:vis $field:ident: $type:ty = $value:expr),+ $(,)?
    }) => {
        $(#[$about])*
        $seen struct $name {
            $($(#[$of_field])* $field_seen $field: $type),+
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $value),+ }
            }
        }
    };
}

/// Gives an enum its list `ALL` and its one name `slug()`, by which it is shown, parsed, stored and read back
/// (`Display`, `FromStr`, serde). An unknown name is an [`UnknownName`].
///
/// A variant that is left out does not compile, nor do two of one name. Without the list in braces, the enum brings
/// `ALL` and `slug()` itself.
///
/// ```
/// #[derive(Debug, Clone, Copy, PartialEq)]
/// pub enum Shade {
///     Light,
///     VeryDark,
/// }
/// mpu_data::named!(Shade, "shade", { Light => "light", VeryDark => "very-dark" });
///
/// assert_eq!(Shade::ALL.map(Shade::slug), ["light", "very-dark"]);
/// assert_eq!("very-dark".parse(), Ok(Shade::VeryDark));
/// assert_eq!(format!("[{:>6}]", Shade::Light), "[ light]");
/// assert_eq!(serde_json::to_string(&Shade::VeryDark)?, r#""very-dark""#);
/// let error = "Very_Drak".parse::<Shade>().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "unknown shade `Very_Drak`: allowed are light, very-dark\nhint: did you mean `very-dark`?"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[macro_export]
macro_rules! named {
    ($type:ident, $what:literal, { $($variant:ident $(($inner:path))? => $slug:literal),+ $(,)? }) => {
        const _: () = $crate::assert_distinct(&[$($slug),+]);

        impl $type {
            /// Every one there is.
            pub const ALL: [Self; [$($slug),+].len()] = [$(Self::$variant $(($inner))?),+];

            /// The one name used in files, flags and tables.
            pub fn slug(self) -> &'static str {
                match self {
                    $(Self::$variant $(($inner))? => $slug),+
                }
            }
        }

        $crate::named!($type, $what);
    };
    ($type:ident, $what:literal) => {
        impl ::std::fmt::Display for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.slug())
            }
        }

        impl ::std::str::FromStr for $type {
            type Err = $crate::UnknownName;

            fn from_str(name: &str) -> ::std::result::Result<Self, Self::Err> {
                let mut all = Self::ALL.into_iter();
                all.find(|one| one.slug() == name).ok_or_else(|| {
                    $crate::UnknownName::new($what, name, &Self::ALL.map(Self::slug))
                })
            }
        }

        impl $crate::serde::Serialize for $type {
            fn serialize<S: $crate::serde::Serializer>(
                &self,
                to: S,
            ) -> ::std::result::Result<S::Ok, S::Error> {
                to.serialize_str(self.slug())
            }
        }

        impl<'de> $crate::serde::Deserialize<'de> for $type {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(
                from: D,
            ) -> ::std::result::Result<Self, D::Error> {
                let name = <String as $crate::serde::Deserialize>::deserialize(from)?;
                name.parse().map_err($crate::serde::de::Error::custom)
            }
        }
    };
}

#[cfg(test)]
#[allow(unreachable_pub, reason = "the macro is made for public enums")]
mod tests {
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Sign {
        Plus,
        Minus(Kind),
    }

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Kind {
        Soft,
        Hard,
    }
    crate::named!(Kind, "kind", { Soft => "soft", Hard => "hard" });
    crate::named!(Sign, "sign", {
        Plus => "plus",
        Minus(Kind::Soft) => "minus-soft",
        Minus(Kind::Hard) => "minus-hard",
    });

    #[test]
    fn names_are_shown_stored_and_read_back() {
        for sign in Sign::ALL {
            assert_eq!(sign.slug().parse(), Ok(sign));
            assert_eq!(format!("{sign:>10}"), format!("{:>10}", sign.slug()));
            let stored = serde_json::to_string(&sign).unwrap();
            assert_eq!(stored, format!("{:?}", sign.slug()));
            assert_eq!(serde_json::from_str::<Sign>(&stored).unwrap(), sign);
        }
        assert_eq!(Sign::ALL[2], Sign::Minus(Kind::Hard));
    }

    #[test]
    #[should_panic(expected = "two values have one name")]
    fn one_name_for_two_is_refused() {
        super::assert_distinct(&["a", "ab", "b"]);
        super::assert_distinct(&["a", "ab", "a"]);
    }

    #[test]
    fn an_unknown_name_is_told_with_what_is_allowed() {
        let error = "Minus_Sotf".parse::<Sign>().unwrap_err();
        assert_eq!(error.nearest.as_deref(), Some("minus-soft"));
        let told = error.to_string();
        assert!(
            told.starts_with(
                "unknown sign `Minus_Sotf`: allowed are plus, minus-soft, minus-hard\nhint:"
            ),
            "{told}"
        );
        assert_eq!("times".parse::<Sign>().unwrap_err().nearest, None);
        let stored = serde_json::from_str::<Kind>("\"sofd\"");
        crate::error::tests::check_message(stored, "did you mean `soft`");
    }
}
