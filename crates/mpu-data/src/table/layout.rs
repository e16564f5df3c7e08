//! The layout: what each column of a table is for.

use std::collections::BTreeMap;
use std::path::Path;

use super::block::Header;
use super::error::{NO_FEATURES, Result, TableError};
use super::input::TableInput;
use super::near::{list, near, shorten};
use super::options::{ColumnOrder, ExtraColumns, TableOptions};
use super::schema::FeatureSchema;

/// Names of a label column that need not be said.
const LABEL_NAMES: [&str; 5] = ["label", "labels", "class", "target", "y"];

/// What a column of a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Skip,
    Label,
    Id,
    /// The key of a join, when it is not the id.
    Key,
    /// The feature column with this number.
    Feature(usize),
}

/// The columns of a table by what they are for.
#[derive(Debug, Clone, Default)]
pub(super) struct Layout {
    pub(super) label: Option<String>,
    pub(super) id: Option<String>,
    pub(super) key: Option<String>,
    pub(super) excluded: Vec<String>,
    pub(super) features: Vec<String>,
}

impl Layout {
    pub(super) fn of(schema: &FeatureSchema) -> Self {
        Self {
            label: schema.label_column.clone(),
            id: schema.id_column.clone(),
            key: None,
            excluded: schema.excluded.clone(),
            features: schema
                .columns
                .iter()
                .map(|column| column.name.clone())
                .collect(),
        }
    }

    /// The role of each column of a file. Every feature must be there; other columns may be.
    pub(super) fn roles(
        &self,
        file: &Path,
        header: &[String],
        order: ColumnOrder,
        extra_columns: ExtraColumns,
    ) -> Result<Vec<Role>> {
        let features: BTreeMap<&str, usize> = self
            .features
            .iter()
            .enumerate()
            .map(|(i, name)| (name.as_str(), i))
            .collect();
        let mut extra = Vec::new();
        let mut found = vec![false; self.features.len()];
        let mut in_order = Vec::with_capacity(self.features.len());
        let mut roles = Vec::with_capacity(header.len());
        for name in header {
            let is = |other: &Option<String>| other.as_deref() == Some(name.as_str());
            roles.push(if is(&self.label) {
                Role::Label
            } else if is(&self.id) {
                Role::Id
            } else if is(&self.key) {
                Role::Key
            } else if let Some(&feature) = features.get(name.as_str()) {
                found[feature] = true;
                in_order.push(feature);
                Role::Feature(feature)
            } else {
                if !self.excluded.contains(name) {
                    extra.push(name.clone());
                }
                Role::Skip
            });
        }
        let absent: Vec<&String> = self
            .features
            .iter()
            .zip(&found)
            .filter(|(_, found)| !**found)
            .map(|(n, _)| n)
            .collect();
        if !absent.is_empty() || (!extra.is_empty() && extra_columns == ExtraColumns::Refuse) {
            return Err(TableError::ColumnsDiffer {
                file: file.to_path_buf(),
                missing: absent
                    .into_iter()
                    .map(|name| {
                        let near = near(name, &extra).into_iter().map(str::to_owned).collect();
                        (name.clone(), near)
                    })
                    .collect(),
                extra,
            });
        }
        if order == ColumnOrder::Schema
            && let Some((position, &feature)) = in_order
                .iter()
                .enumerate()
                .find(|(i, feature)| i != *feature)
        {
            return Err(TableError::ColumnOrder {
                file: file.to_path_buf(),
                position: position + 1,
                found: self.features[feature].clone(),
                expected: self.features[position].clone(),
            });
        }
        Ok(roles)
    }
}

/// Refuses a table in which a column that is needed has a type that is not read.
pub(super) fn check_readable(input: &TableInput, header: &Header, roles: &[Role]) -> Result<()> {
    let needed = |column: &usize| roles.get(*column).is_some_and(|role| *role != Role::Skip);
    match header.unread.iter().find(|(column, _)| needed(column)) {
        None => Ok(()),
        Some((column, kind)) => Err(input.refused(format!(
            "column `{}` has type {kind}, which is not read\n\
             hint: exclude it (--exclude), or write it as a number or as text",
            shorten(&header.columns[*column])
        ))),
    }
}

/// The layout of a table for training, from its header and what the user says.
pub(super) fn learn_layout(
    input: &TableInput,
    header: &Header,
    options: &TableOptions,
) -> Result<Layout> {
    let known = |wanted: &String, role: &'static str| {
        if header.find(wanted).is_some() {
            return Ok(wanted.clone());
        }
        Err(input.unknown_column(role, wanted, &header.columns))
    };
    let key = match &options.positives {
        Some(list) => Some(known(&list.key, "key column")?),
        None => None,
    };
    let usual = || {
        let label = header.label.map(|i| header.columns[i].clone());
        label.or_else(|| {
            // In the order of the names: beside `class`, `y` is a coordinate.
            let named = |name| {
                let mut columns = header.columns.iter();
                columns.find(|column| column.eq_ignore_ascii_case(name))
            };
            LABEL_NAMES.into_iter().find_map(named).cloned()
        })
    };
    let label = match &options.label_column {
        Some(wanted) => Some(known(wanted, "label column")?),
        None => usual(),
    };
    if label.is_none() && key.is_none() && options.unlabeled.is_none() {
        return Err(input.refused(format!(
            "which column holds the labels?\n\
             hint: name the label column (--label-column); the columns are {}",
            list(&header.columns)
        )));
    }
    let id = match &options.id_column {
        Some(wanted) => Some(known(wanted, "id column")?),
        None => key.clone(),
    };
    if label.is_some() && (label == id || label == key) {
        return Err(input.options("one column is wanted both for labels and for ids or keys"));
    }
    for wanted in &options.exclude {
        known(wanted, "excluded column")?;
    }
    let key = key.filter(|key| Some(key) != id.as_ref());
    let special = [&label, &id, &key];
    let features: Vec<String> = header
        .columns
        .iter()
        .filter(|column| !options.exclude.contains(column))
        .filter(|column| !special.iter().any(|other| other.as_ref() == Some(column)))
        .cloned()
        .collect();
    for wanted in &options.categorical {
        if !features.contains(wanted) {
            return Err(input.unknown_column("categorical feature column", wanted, &features));
        }
    }
    if features.is_empty() {
        return Err(input.refused(NO_FEATURES));
    }
    let mut excluded = options.exclude.clone();
    excluded.extend(key.clone());
    excluded.retain(|name| Some(name) != label.as_ref() && Some(name) != id.as_ref());
    Ok(Layout {
        label,
        id,
        key,
        excluded,
        features,
    })
}
