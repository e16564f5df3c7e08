//! Runs that differ in their seeds alone.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::record::Record;

/// Runs of one configuration with different seeds.
#[derive(Debug, Clone, PartialEq)]
pub struct Repeats<'a> {
    /// What the runs were: dataset, method, loss, rate and epochs, and any other setting that tells them from runs of
    /// which all these are the same.
    pub name: String,
    /// The runs, in the order given.
    pub records: Vec<&'a Record>,
}

impl<'a> Repeats<'a> {
    /// Groups records; groups are in the order of their first records.
    pub fn of(records: &'a [Record]) -> Vec<Self> {
        let mut groups: Vec<(Repeats<'a>, Settings)> = Vec::new();
        for record in records {
            let (name, settings) = (described(record), settings(record));
            let same =
                |(group, of): &&mut (Repeats<'a>, Settings)| group.name == name && *of == settings;
            if let Some((group, _)) = groups.iter_mut().find(same) {
                group.records.push(record);
            } else {
                let records = vec![record];
                groups.push((Repeats { name, records }, settings));
            }
        }
        let telling: Vec<Vec<String>> = groups.iter().map(|it| telling(it, &groups)).collect();
        let named = groups.into_iter().zip(telling);
        named
            .map(|((group, _), telling)| Repeats {
                name: [vec![group.name], telling].concat().join(" "),
                ..group
            })
            .collect()
    }
}

/// Every setting by its key, such as `train.epochs`.
type Settings = BTreeMap<String, String>;

/// The settings that another group of the same name does not have.
fn telling((group, own): &(Repeats<'_>, Settings), all: &[(Repeats<'_>, Settings)]) -> Vec<String> {
    let alike = all.iter().filter(|(other, _)| other.name == group.name);
    let alike: Vec<&Settings> = alike.map(|(_, settings)| settings).collect();
    let other = |key: &str, value: &str| {
        let mut values = alike.iter().map(|it| it.get(key));
        values.any(|it| it.is_none_or(|it| it != value))
    };
    let telling = own.iter().filter(|(key, value)| other(key, value));
    telling
        .map(|(key, value)| format!("{key}={value}"))
        .collect()
}

/// The configuration of a run without its seeds.
fn settings(record: &Record) -> Settings {
    fn add(settings: &mut Settings, key: &str, value: &Value) {
        match value {
            Value::Object(parts) => {
                for (part, value) in parts {
                    let key = if key.is_empty() {
                        part.clone()
                    } else {
                        format!("{key}.{part}")
                    };
                    add(settings, &key, value);
                }
            }
            Value::String(text) => drop(settings.insert(key.to_owned(), text.clone())),
            other => drop(settings.insert(key.to_owned(), other.to_string())),
        }
    }
    let mut settings = Settings::new();
    add(&mut settings, "", &record.config);
    for seed in ["seed", "data.split-seed"] {
        settings.remove(seed);
    }
    settings
}

/// What a run was, but for its seed, by what tables tell runs apart by.
fn described(record: &Record) -> String {
    let key = &record.key;
    let rate = if key.swept {
        "swept".to_owned()
    } else {
        key.lr.to_string()
    };
    // Priors estimated from the user's own rows differ from seed to seed.
    let prior = match &record.config["data"]["priors"] {
        estimated if key.protocol == Record::TABLE && estimated == "auto" => "auto".to_owned(),
        _ => key.prior.to_string(),
    };
    let mark = record.data_mark.as_ref();
    let mark = mark.map(|mark| format!(" [{mark}]")).unwrap_or_default();
    format!(
        "{} k={} π={prior} {} {}/{}/{} lr={rate} epochs={}{mark}",
        key.dataset, key.classes, key.method, key.surrogate, key.gamma, key.form, key.epochs
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fixture;

    #[test]
    fn runs_with_other_settings_are_no_repeats_and_are_told_apart() {
        let run = |seed: u64, hidden: Value, batch: Option<u32>| {
            let mut record = fixture::record("mnist", 4, 0.5, "area", seed, 20, 0.9);
            record.config = json!({
                "seed": seed,
                "data": {"split-seed": seed, "dataset": "mnist"},
                "model": {"kind": "mlp", "hidden": hidden},
            });
            if let Some(batch) = batch {
                record.config["train"] = json!({"batch-size": batch});
            }
            record
        };
        let records = [
            run(1, json!([8]), None),
            run(1, json!([4, 4]), Some(32)),
            run(2, json!([8]), None),
        ];
        let groups = Repeats::of(&records);
        let shown: Vec<(usize, &str)> = groups
            .iter()
            .map(|group| {
                let tail = group.name.split_once("epochs=").unwrap().1;
                (group.records.len(), tail.split_once(' ').unwrap().1)
            })
            .collect();
        assert_eq!(
            shown,
            [
                (2, "model.hidden=[8]"),
                (1, "model.hidden=[4,4] train.batch-size=32")
            ]
        );
        // Alone, a configuration needs no more words.
        let alone = Repeats::of(&records[..1]);
        assert!(!alone[0].name.contains("hidden"), "{}", alone[0].name);
    }
}
