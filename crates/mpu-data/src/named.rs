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

/// Gives an enum its list `ALL`, its one name `slug()`, and `Display` and `FromStr` by that name; an unknown
/// name is an [`UnknownName`].
///
/// A variant that is left out does not compile.
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
/// let error = "Very_Drak".parse::<Shade>().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "unknown shade `Very_Drak`: allowed are light, very-dark\nhint: did you mean `very-dark`?"
/// );
/// ```
#[macro_export]
macro_rules! named {
    ($type:ident, $what:literal, { $($variant:ident $(($inner:path))? => $slug:literal),+ $(,)? }) => {
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
    };
}
