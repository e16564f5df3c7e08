//! How counts, lists and differences are written.

/// A count with its noun.
pub(crate) fn count(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// Things with commas.
pub(crate) fn list<T: ToString>(things: impl IntoIterator<Item = T>) -> String {
    let things: Vec<String> = things.into_iter().map(|t| t.to_string()).collect();
    things.join(", ")
}

/// Things with commas and an "and" before the last.
pub(crate) fn and_list(things: &[&str]) -> String {
    match things {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [most @ .., last] => format!("{} and {last}", list(most)),
    }
}

/// Each of some things once, in the order in which they first come.
pub(crate) fn in_order<T: PartialEq>(things: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for thing in things {
        if !seen.contains(&thing) {
            seen.push(thing);
        }
    }
    seen
}

/// A dataset, and how its data differ from the published ones.
pub(crate) fn marked(dataset: &str, mark: Option<&str>) -> String {
    mark.map_or(dataset.to_owned(), |mark| format!("{dataset} ({mark})"))
}

/// A number with two decimals, or a dash.
pub(crate) fn or_dash(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), |value| format!("{value:.2}"))
}

/// Names as code, with commas.
pub(crate) fn code_list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    list(names.into_iter().map(|name| format!("`{name}`")))
}

/// A difference with its sign; what rounds to zero is `+0.00`.
pub(crate) fn signed(difference: f64, decimals: usize) -> String {
    let text = format!("{difference:+.decimals$}");
    if text.bytes().any(|b| b.is_ascii_digit() && b != b'0') {
        text
    } else {
        text.replace('-', "+")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_shown_but_not_of_nothing() {
        assert_eq!(signed(-1.234, 2), "-1.23");
        assert_eq!(signed(0.5, 1), "+0.5");
        assert_eq!(signed(-0.001, 2), "+0.00");
    }

    #[test]
    fn one_is_not_many() {
        assert_eq!([count(1, "seed"), count(2, "seed")], ["1 seed", "2 seeds"]);
        assert_eq!(
            (list([1, 2]), code_list(["a"])),
            ("1, 2".to_owned(), "`a`".to_owned())
        );
        let lists = [&[][..], &["a"], &["a", "b"], &["a", "b", "c"]].map(and_list);
        assert_eq!(lists, ["", "a", "a and b", "a, b and c"]);
    }
}
