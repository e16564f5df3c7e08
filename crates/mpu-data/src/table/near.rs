//! Near names: what the user probably meant.

use strsim::{damerau_levenshtein, jaro_winkler};

/// How many names a message lists before it says how many more there are.
const LISTED: usize = 8;

/// The candidates that look like `wanted`, nearest first, at most three.
pub(super) fn near<'a, S: AsRef<str>>(wanted: &str, candidates: &'a [S]) -> Vec<&'a str> {
    let folded = fold(wanted);
    let mut scored: Vec<(f64, &str)> = candidates
        .iter()
        .map(AsRef::as_ref)
        .filter_map(|candidate| {
            let other = fold(candidate);
            let similarity = jaro_winkler(&folded, &other);
            let contains = folded.len() >= 3
                && other.len() >= 3
                && (other.contains(&folded) || folded.contains(&other));
            let close = other == folded
                || contains
                || similarity >= 0.85
                || (folded.len() > 3
                    && other.len() > 3
                    && damerau_levenshtein(&folded, &other) <= 2);
            close.then_some((similarity, candidate))
        })
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored.truncate(3);
    scored.into_iter().map(|(_, candidate)| candidate).collect()
}

/// A `hint:` line that names near candidates, or all of them.
pub(super) fn did_you_mean<S: AsRef<str>>(wanted: &str, candidates: &[S]) -> String {
    let near = near(wanted, candidates);
    if near.is_empty() {
        format!("\nhint: the columns are {}", list(candidates))
    } else {
        format!(
            "\nhint: did you mean {}?",
            list(&near).replace(", ", " or ")
        )
    }
}

/// Names in back quotes, the first few of them.
pub(super) fn list<S: AsRef<str>>(names: &[S]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    let mut text = names
        .iter()
        .take(LISTED)
        .map(|name| format!("`{}`", shorten(name.as_ref())))
        .collect::<Vec<_>>()
        .join(", ");
    if names.len() > LISTED {
        text = format!("{text}, … ({} more)", names.len() - LISTED);
    }
    text
}

/// A value from a file, cut so that a message stays readable.
pub(super) fn shorten(value: &str) -> String {
    const LONGEST: usize = 60;
    if value.chars().count() <= LONGEST {
        return value.to_owned();
    }
    let head: String = value.chars().take(LONGEST).collect();
    format!("{head}…")
}

/// Lines that list missing and extra columns, and a `hint:` line.
pub(super) fn differences(missing: &[(String, Vec<String>)], extra: &[String]) -> String {
    let mut lines = Vec::new();
    if !missing.is_empty() {
        let names: Vec<&str> = missing.iter().map(|(name, _)| name.as_str()).collect();
        lines.push(format!("\nmissing: {}", list(&names)));
    }
    if !extra.is_empty() {
        lines.push(format!("\nextra: {}", list(extra)));
    }
    let near: Vec<String> = missing
        .iter()
        .filter(|(_, near)| !near.is_empty())
        .take(3)
        .map(|(name, near)| format!("{} for `{}`", list(near), shorten(name)))
        .collect();
    lines.push(if near.is_empty() {
        "\nhint: add the missing columns; remove extra ones or have them ignored".to_owned()
    } else {
        format!("\nhint: is it {}?", near.join(", "))
    });
    lines.concat()
}

fn fold(name: &str) -> String {
    name.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found() {
        let columns = ["id", "kind", "weight_kg", "Colour"];
        assert_eq!(near("knd", &columns), ["kind"]);
        assert_eq!(near("Kind", &columns), ["kind"]);
        assert_eq!(near("weight", &columns), ["weight_kg"]);
        assert_eq!(near("color", &columns), ["Colour"]);
        assert!(near("zzz", &columns).is_empty());
        assert!(did_you_mean("zzz", &columns).contains("`weight_kg`"));
        assert_eq!(
            did_you_mean("knd", &columns),
            "\nhint: did you mean `kind`?"
        );
    }

    #[test]
    fn long_lists_and_values_are_cut() {
        let names: Vec<String> = (0..20).map(|i| format!("c{i}")).collect();
        assert!(list(&names).ends_with("(12 more)"));
        assert_eq!(shorten(&"é".repeat(100)).chars().count(), 61);
    }
}
