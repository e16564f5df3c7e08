//! A list of positives, to be joined to a table by a key.

use std::collections::BTreeMap;
use std::path::Path;

use super::block::for_each_block;
use super::cell::Markers;
use super::error::{NO_ROWS, Result, TableError};
use super::labels::{MAX_LABELS, POSITIVE, canonical};
use super::libsvm::Lines;
use super::limits::Limits;
use super::lines::LineBlocks;
use super::near::shorten;
use super::open::{OpenOptions, open};
use super::options::Positives;
use super::place::{At, Place};

/// The listed keys.
#[derive(Debug)]
pub(super) struct KeyList {
    /// The class names, sorted.
    pub(super) classes: Vec<String>,
    /// The class of each key.
    pub(super) keys: BTreeMap<String, usize>,
}

/// Reads a list.
pub(super) fn read(list: &Positives, limits: &Limits) -> Result<KeyList> {
    let path = list.input.path();
    let named = if path.extension().is_some_and(|extension| extension == "txt") {
        read_lines(list, limits)?
    } else {
        read_columns(list, limits)?
    };
    if named.is_empty() {
        return Err(TableError::file(path, NO_ROWS));
    }
    let mut names: Vec<String> = named.values().map(|(class, _)| class.clone()).collect();
    names.sort();
    names.dedup();
    if names.len() > MAX_LABELS {
        let column = list.class_column.as_deref().unwrap_or_default();
        return Err(TableError::too_many_classes(path, column, MAX_LABELS));
    }
    let keys = named
        .into_iter()
        .map(|(key, (class, _))| {
            let class = names.binary_search(&class).unwrap_or_default();
            (key, class)
        })
        .collect();
    Ok(KeyList {
        classes: names,
        keys,
    })
}

type Named = BTreeMap<String, (String, At)>;

fn insert(named: &mut Named, file: &Path, key: String, class: String, at: At) -> Result<()> {
    if let Some((other, first)) = named.get(&key) {
        if *other == class {
            return Ok(());
        }
        let what = format!(
            "key `{}` was already at {first} with another class\nhint: a row can have one class only",
            shorten(&key)
        );
        return Err(TableError::at(Place::new(file, at), what));
    }
    named.insert(key, (class, at));
    Ok(())
}

/// One key a line.
fn read_lines(list: &Positives, limits: &Limits) -> Result<Named> {
    let input = &list.input;
    let mut blocks = LineBlocks::open(input, limits, Lines)?;
    let mut named = Named::new();
    while let Some(block) = blocks.next()? {
        let text = String::from_utf8_lossy(&block.text); // checked to be UTF-8
        for (line, key) in (block.line..).zip(text.split('\n')) {
            let key = key.trim();
            if !key.is_empty() {
                let (at, class) = (At::Line(line), POSITIVE.to_owned());
                insert(&mut named, input.path(), key.to_owned(), class, at)?;
            }
        }
    }
    Ok(named)
}

/// A table with a key column and perhaps a class column.
fn read_columns(list: &Positives, limits: &Limits) -> Result<Named> {
    let input = &list.input;
    let options = OpenOptions {
        limits: *limits,
        ..OpenOptions::default()
    };
    let mut source = open(input, input.format(None)?, &options)?;
    let header = source.header().clone();
    let find = |wanted: &str, role| {
        let unknown = || input.unknown_column(role, wanted, &header.columns);
        header.find(wanted).ok_or_else(unknown)
    };
    let key = find(&list.key, "key column")?;
    let class = match &list.class_column {
        Some(wanted) => Some(find(wanted, "class column of the positives")?),
        None => match header.columns.len() {
            1 => None,
            2 => Some(1 - key),
            _ => {
                return Err(input.options(format!(
                    "which column holds the classes of the positives?\n\
                     hint: name it, or keep only the key and the class; the columns are {}",
                    super::near::list(&header.columns)
                )));
            }
        },
    };
    let markers = Markers::new(&[]);
    let mut named = Named::new();
    for_each_block(
        source.as_mut(),
        |block| {
            let mut rows = Vec::new();
            block.for_each_row(|row| {
                let Some(key) = row.cells[key].categorical(&markers) else {
                    let what = format!("column `{}`: the key is blank", list.key);
                    return Err(TableError::at(block.place(row.at), what));
                };
                let name = match class.map(|class| row.cells[class].categorical(&markers)) {
                    None => POSITIVE.to_owned(),
                    Some(Some(name)) => canonical(&name),
                    Some(None) => {
                        return Err(TableError::BlankLabel {
                            place: block.place(row.at),
                            column: class.map_or_else(String::new, |c| header.columns[c].clone()),
                            remedy: "every listed positive needs its class",
                        });
                    }
                };
                rows.push((key.into_owned(), name, row.at));
                Ok(())
            })?;
            Ok(rows)
        },
        |rows| {
            rows.into_iter()
                .try_for_each(|(key, class, at)| insert(&mut named, input.path(), key, class, at))
        },
    )?;
    Ok(named)
}

/// Checks that every listed key was found in the table, and found once.
pub(super) fn check_found(
    list: &Positives,
    keys: &KeyList,
    table: &Path,
    found: &[(String, At)],
) -> Result<()> {
    let mut places: BTreeMap<&str, At> = BTreeMap::new();
    for (key, at) in found {
        if let Some(first) = places.insert(key, *at) {
            let what = format!(
                "key `{}` was already at {first}, and the list of positives names it\n\
                 hint: a key must name one row",
                shorten(key)
            );
            return Err(TableError::at(Place::new(table, *at), what));
        }
    }
    let missing: Vec<&String> = keys
        .keys
        .keys()
        .filter(|key| !places.contains_key(key.as_str()))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(list.input.refused(format!(
        "{} of {} listed positives are not in column `{}` of {}: {}\n\
         hint: check that both files write the key in the same way",
        missing.len(),
        keys.keys.len(),
        list.key,
        table.display(),
        super::near::list(&missing[..missing.len().min(5)])
    )))
}
