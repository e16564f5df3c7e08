//! Reading a table for training: a pass to understand it, a pass to fill the matrix.

use super::block::{Block, Header, for_each_block};
use super::cell::Markers;
use super::check::{CheckInput, DataCheck, Sampling};
use super::encoder::{Encoded, Encoder, Gap, Gaps, Labeling, Target};
use super::error::{NO_ROWS, Result, TableError};
use super::fill::{check_matrix, fill, impute};
use super::format::InputFormat;
#[cfg(feature = "images")]
use super::images_read::read_images;
use super::input::TableInput;
use super::labels::{self, ConventionOrigin, LabelCheck, LabelPlan, POSITIVE};
use super::layout::{Layout, Role, check_readable, learn_layout};
use super::learn::{check_values, learn_schema, separated_remedy};
use super::libsvm::LibsvmSource;
use super::near::shorten;
use super::open::{OpenOptions, open};
use super::options::{ColumnOrder, Decimal, ExtraColumns, TableOptions};
use super::place::At;
use super::positives::{self, KeyList};
use super::precision::{self, Precision};
use super::scan::{self, ColumnScan, ScanPlan, TableScan, scan};
use super::schema::FeatureSchema;
use crate::{ClassCount, Features, MpuLabel};

/// A table understood as an MPU problem.
#[derive(Debug, Clone)]
pub struct MpuTable {
    /// The encoded rows: those of the table, then those of a file of unlabelled rows.
    pub features: Features,
    /// The label of each row.
    pub labels: Vec<MpuLabel>,
    /// The names of the observed classes, by class index. The negative class has none.
    pub class_names: Vec<String>,
    /// The id of each row, if there is an id column.
    pub ids: Option<Vec<String>>,
    /// How columns became features; to be stored with a model.
    pub schema: FeatureSchema,
    /// What was understood, to be shown before anything runs.
    pub check: DataCheck,
}

impl MpuTable {
    /// The number of classes: the observed ones and the negative one.
    pub fn classes(&self) -> crate::Result<ClassCount> {
        ClassCount::new(self.class_names.len() + 1)
    }
}

/// Reads a table, with its pool and its list of positives if there are any.
pub fn read_table(input: impl Into<TableInput>, options: &TableOptions) -> Result<MpuTable> {
    let input = input.into();
    let format = input.format(options.format)?;
    if format == InputFormat::Images {
        return read_images(&input, options);
    }
    Reading::new(&input, format, options)?.run()
}

#[cfg(not(feature = "images"))]
fn read_images(input: &TableInput, _: &TableOptions) -> Result<MpuTable> {
    Err(super::TableError::not_built(
        input.path(),
        InputFormat::Images,
        "images",
    ))
}

/// One of the files that make the table.
struct Part<'a> {
    input: &'a TableInput,
    format: InputFormat,
    open: OpenOptions,
    header: Header,
    roles: Vec<Role>,
}

/// What the second pass brings besides features.
#[derive(Default)]
struct Filled {
    labels: Vec<MpuLabel>,
    ids: Vec<String>,
    found: Vec<(String, At)>,
    gaps: Vec<Gaps>,
}

/// A reading in progress.
struct Reading<'a> {
    options: &'a TableOptions,
    layout: Layout,
    main: Part<'a>,
    pool: Option<Part<'a>>,
    list: Option<KeyList>,
    markers: Markers,
    label_markers: Markers,
}

impl<'a> Reading<'a> {
    fn new(input: &'a TableInput, format: InputFormat, options: &'a TableOptions) -> Result<Self> {
        if options.unlabeled.is_some() && options.positives.is_some() {
            return Err(input.options(
                "both a file of unlabelled rows and a list of positives are given\nhint: give one",
            ));
        }
        let is_csv = matches!(format, InputFormat::Csv | InputFormat::Tsv);
        if options.decimal == Decimal::Comma && !is_csv {
            return Err(input.options(format!("{format} has no decimal comma, only CSV text has")));
        }
        let mut open_options = OpenOptions {
            delimiter: options.delimiter,
            labels: options.labels.clone(),
            libsvm: None,
            limits: options.limits,
        };
        let pool = options
            .unlabeled
            .as_ref()
            .map(|pool| (pool, pool.format(None).unwrap_or(format)));
        if format == InputFormat::Libsvm {
            let mut inputs = vec![input];
            inputs.extend(pool.filter(|(_, f)| *f == format).map(|(pool, _)| pool));
            open_options.libsvm = Some(LibsvmSource::columns(&inputs, &options.limits)?);
        }
        let header = open(input, format, &open_options)?.header().clone();
        let layout = learn_layout(input, &header, options)?;
        let order = ColumnOrder::Any;
        let roles = layout.roles(input.path(), &header.columns, order, ExtraColumns::Refuse)?;
        check_readable(input, &header, &roles)?;
        let pool = match pool {
            Some((pool, format)) => {
                let open_options = OpenOptions {
                    labels: None,
                    ..open_options.clone()
                };
                let header = open(pool, format, &open_options)?.header().clone();
                let roles =
                    layout.roles(pool.path(), &header.columns, order, ExtraColumns::Refuse)?;
                check_readable(pool, &header, &roles)?;
                // Labels of a file of unlabelled rows are not looked at.
                let roles = roles
                    .into_iter()
                    .map(|role| {
                        if role == Role::Label {
                            Role::Skip
                        } else {
                            role
                        }
                    })
                    .collect();
                Some(Part {
                    input: pool,
                    format,
                    open: open_options,
                    header,
                    roles,
                })
            }
            None => None,
        };
        let list = match &options.positives {
            Some(list) => Some(positives::read(list, &options.limits)?),
            None => None,
        };
        Ok(Self {
            options,
            layout,
            main: Part {
                input,
                format,
                open: open_options,
                header,
                roles,
            },
            pool,
            list,
            markers: Markers::new(&options.missing_markers).with_decimal(options.decimal),
            label_markers: Markers::new(&options.missing_markers).without(&options.class_words),
        })
    }

    fn run(self) -> Result<MpuTable> {
        let input = self.main.input;
        let (columns, scans, mixed) = self.scan()?;
        let n_rows: u64 = scans.iter().map(TableScan::n_rows).sum();
        check_values(input, &self.layout, &columns, self.options)?;
        let plan = self.plan_labels(&scans[0], n_rows)?;
        let mut schema = learn_schema(
            &self.main.header,
            input,
            &self.layout,
            &columns,
            self.options,
        )?;
        let width = schema.width();
        // A matrix in memory is taken as it is, unless its gaps are to be filled.
        let given = input.as_frame().filter(|_| self.pool.is_none());
        let given = given.and_then(|frame| frame.encoded_by(&schema)).cloned();
        let mut matrix = match &given {
            Some(_) => Vec::new(),
            None => self.allocate(n_rows, width)?,
        };

        let mut filled = self.fill(&schema, plan.as_ref(), &scans, &mut matrix)?;
        let exact = match &given {
            // Its values have 32 bits already.
            Some(_) => Precision::default(),
            None => precision::look(&schema, &matrix, |wanted, seen| {
                self.parts().try_for_each(|part| {
                    let mut source = open(part.input, part.format, &part.open)?;
                    seen.read(source.as_mut(), &part.roles, wanted, &self.markers)
                })
            })?,
        };
        if exact.apply(&mut schema) {
            matrix.fill(0.0);
            filled = self.fill(&schema, plan.as_ref(), &scans, &mut matrix)?;
        }
        let Filled {
            labels,
            ids,
            found,
            gaps,
        } = filled;
        if let (Some(list), Some(keys)) = (&self.options.positives, &self.list) {
            positives::check_found(list, keys, self.main.input.path(), &found)?;
        }
        let mut features = match given {
            Some(features) => features,
            None => Features::new(matrix, schema.shape).map_err(|error| self.internal(&error))?,
        };
        impute(&mut schema, &mut features);
        let (class_names, label_check) = self.classes(plan, &labels)?;
        let check = DataCheck::new(&CheckInput {
            files: self
                .parts()
                .map(|part| part.input.path().to_path_buf())
                .collect(),
            format: self.main.format,
            header: &self.main.header,
            schema: &schema,
            features: &features,
            labels: &labels,
            class_names: &class_names,
            ids: &ids,
            gaps: &gaps,
            mixed: &mixed,
            separated: separated(&columns, &self.layout.features, self.options),
            padded: padded(&columns, &self.layout.features),
            rounded: exact.rounded,
            nested: Vec::new(),
            empty_folders: Vec::new(),
            skipped_files: 0,
            label_check,
            sampling: self.sampling(),
        });
        Ok(MpuTable {
            features,
            labels,
            class_names,
            ids: self.layout.id.is_some().then_some(ids),
            schema,
            check,
        })
    }

    /// The second pass. Features of a matrix that is taken as it is are not written: there are none to write to.
    fn fill(
        &self,
        schema: &FeatureSchema,
        plan: Option<&LabelPlan>,
        scans: &[TableScan],
        matrix: &mut [f32],
    ) -> Result<Filled> {
        let width = schema.width();
        let mut filled = Filled {
            gaps: vec![Gaps::default(); schema.columns.len()],
            ..Filled::default()
        };
        let mut start = 0;
        for (i, (part, scan)) in self.parts().zip(scans).enumerate() {
            let end = start + scan.n_rows() as usize * width;
            let labeling = match (&self.list, plan) {
                (Some(list), _) => Labeling::Listed(&list.keys),
                _ if i > 0 => Labeling::All(MpuLabel::Unlabeled),
                (None, Some(plan)) => Labeling::Column(&plan.codes),
                (None, None) => Labeling::All(MpuLabel::Labeled(0)),
            };
            let decimal = self.options.decimal;
            let encoder = Encoder::new(schema, &part.roles, labeling, Gap::Mark, decimal);
            let mut source = open(part.input, part.format, &part.open)?;
            let file = part.input.path();
            let mut gather = |encoded: Encoded| {
                filled.labels.extend(encoded.labels);
                filled.ids.extend(encoded.ids);
                filled.found.extend(encoded.found);
                for (gap, more) in filled.gaps.iter_mut().zip(encoded.gaps) {
                    gap.rows += more.rows;
                    gap.labeled_rows += more.labeled_rows;
                }
            };
            if matrix.is_empty() {
                let encoded = |block: &Block| encoder.encode(block, Target::Grow(&mut Vec::new()));
                for_each_block(source.as_mut(), encoded, |encoded| {
                    gather(encoded);
                    Ok(())
                })?;
            } else {
                let rows = &mut matrix[start..end];
                fill(source.as_mut(), file, scan, &encoder, rows, gather)?;
            }
            start = end;
        }
        Ok(filled)
    }

    fn parts(&self) -> impl Iterator<Item = &Part<'a>> {
        std::iter::once(&self.main).chain(&self.pool)
    }

    /// The first pass, and a second one when a column holds both numbers and texts: then all of
    /// its cells are categories. Returns the columns of all files together, what each file has,
    /// and the names of such columns.
    fn scan(&self) -> Result<(Vec<ColumnScan>, Vec<TableScan>, Vec<String>)> {
        let features = &self.layout.features;
        let mut categorical: Vec<bool> = features
            .iter()
            .map(|name| self.options.categorical.contains(name))
            .collect();
        let mut mixed = Vec::new();
        loop {
            let mut scans = Vec::new();
            let mut columns = vec![ColumnScan::default(); features.len()];
            for part in self.parts() {
                let mut source = open(part.input, part.format, &part.open)?;
                let plan = ScanPlan {
                    roles: &part.roles,
                    categorical: &categorical,
                    markers: &self.markers,
                    label_markers: &self.label_markers,
                    max_categories: self.options.max_categories,
                };
                let mut part_scan = scan(source.as_mut(), &plan)?;
                if part_scan.n_rows() == 0 {
                    return Err(part.input.refused(NO_ROWS));
                }
                let found = std::mem::take(&mut part_scan.columns);
                scan::merge(&mut columns, found, self.options.max_categories);
                scans.push(part_scan);
            }
            let both: Vec<usize> = (0..features.len())
                .filter(|i| columns[*i].numbers > 0 && columns[*i].texts > 0)
                .collect();
            if both.is_empty() {
                return Ok((columns, scans, mixed));
            }
            for column in both {
                let scan = &columns[column];
                // So many numbers that they cannot be categories: the text is a slip.
                let slip = scan.numbers > 20 * scan.texts
                    && scan.numbers > self.options.max_categories as u64;
                if let Some((place, value)) = scan.first_text.as_ref().filter(|_| slip) {
                    let value = shorten(value);
                    let what = format!(
                        "`{value}` is not a number, but {} other cells are\n\
                         hint: correct it, declare `{value}` a mark of missing values (--missing-marker), or the column \
                         categorical (--categorical)",
                        scan.numbers
                    );
                    return Err(TableError::cell(place, &features[column], what));
                }
                categorical[column] = true;
                mixed.push(features[column].clone());
            }
        }
    }

    /// What the label column means; none when there is no such column.
    fn plan_labels(&self, scan: &TableScan, n_rows: u64) -> Result<Option<LabelPlan>> {
        let (Some(column), None) = (&self.layout.label, &self.list) else {
            return Ok(None);
        };
        let file = self.main.input.path();
        let pool_given = self.pool.is_some();
        let plan = labels::plan(
            &scan.labels,
            &self.options.convention,
            pool_given,
            file,
            column,
        )?;
        let labeled: u64 = plan.labeled.iter().sum();
        let first = labels::first_labeled(&scan.labels, &plan);
        labels::check_counts(file, &plan.classes, labeled, n_rows, first)?;
        Ok(Some(plan))
    }

    /// The class names, and what to say of the labels.
    fn classes(
        &self,
        plan: Option<LabelPlan>,
        labels: &[MpuLabel],
    ) -> Result<(Vec<String>, LabelCheck)> {
        let unlabeled = labels
            .iter()
            .filter(|label| **label == MpuLabel::Unlabeled)
            .count() as u64;
        let marked = |check: &LabelCheck| check.markers.iter().map(|m| m.rows).sum::<u64>();
        if let Some(plan) = plan {
            let mut check = plan.check;
            check.unlabeled_by_file = unlabeled.saturating_sub(marked(&check));
            return Ok((plan.classes, check));
        }
        let classes = match &self.list {
            Some(list) => list.classes.clone(),
            None => vec![POSITIVE.to_owned()],
        };
        let n_rows = labels.len() as u64;
        labels::check_counts(
            self.main.input.path(),
            &classes,
            n_rows - unlabeled,
            n_rows,
            None,
        )?;
        Ok((
            classes,
            LabelCheck {
                origin: ConventionOrigin::Files,
                markers: Vec::new(),
                unlabeled_by_file: unlabeled,
                notes: Vec::new(),
                blank_words: std::collections::BTreeMap::new(),
            },
        ))
    }

    /// Takes the memory of the matrix, if it is within the limit.
    fn allocate(&self, n_rows: u64, width: usize) -> Result<Vec<f32>> {
        let file = self.main.input.path();
        check_matrix(file, n_rows, width, self.options.limits.matrix_bytes)?;
        Ok(vec![0.0; n_rows as usize * width])
    }

    fn sampling(&self) -> Sampling {
        if self.pool.is_some() {
            Sampling::two_files()
        } else if self.list.is_some() {
            Sampling::listed()
        } else {
            Sampling::one_file()
        }
    }

    fn internal(&self, error: &crate::Error) -> TableError {
        self.main.input.options(error.to_string())
    }
}

/// Columns taken as categories that look like numbers with separators, each with an example and what to do.
fn separated(
    columns: &[ColumnScan],
    names: &[String],
    options: &TableOptions,
) -> Vec<(String, String, &'static str)> {
    let columns = columns.iter().zip(names);
    let not_said = columns.filter(|(_, name)| !options.categorical.contains(name));
    not_said
        .filter_map(|(column, name)| {
            let look = column.looks.most(column.texts)?;
            let (_, example) = column.first_text.as_ref()?;
            Some((name.clone(), example.clone(), separated_remedy(look)))
        })
        .collect()
}

/// Columns taken as numbers in which one begins with zeros, and that number.
fn padded(columns: &[ColumnScan], names: &[String]) -> Vec<(String, String)> {
    let numeric = columns
        .iter()
        .zip(names)
        .filter(|(column, _)| column.texts == 0);
    numeric
        .filter_map(|(column, name)| Some((name.clone(), column.first_padded.clone()?)))
        .collect()
}
