//! Predictions rows as Parquet: groups of rows of one size, one column a figure.

use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, FloatType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use super::output::{Columns, Destination, KeyKind, Keys, Lines};

/// Rows of a group: they are in memory until it is written.
const GROUP_ROWS: usize = 1 << 16;

/// A Parquet file in the making.
pub(super) struct ParquetRows {
    writer: SerializedFileWriter<Destination>,
    group: Group,
}

/// Rows that are not written yet, column by column.
#[derive(Default)]
struct Group {
    n_rows: usize,
    ids: Vec<ByteArray>,
    numbers: Vec<i64>,
    queues: Vec<ByteArray>,
    ranks: Vec<i64>,
    answers: Vec<ByteArray>,
    /// Scores, probabilities, margin.
    figures: Vec<Vec<f32>>,
    outside: Vec<ByteArray>,
    is_outside: Vec<i16>,
    because: Because,
}

/// What moved answers: a list of groups to each row.
#[derive(Default)]
struct Because {
    columns: Vec<ByteArray>,
    values: Vec<ByteArray>,
    effects: Vec<f32>,
    /// 0 where the list of a row begins, 1 where it goes on.
    repeats: Vec<i16>,
}

impl ParquetRows {
    pub(super) fn begin(columns: &Columns, destination: Destination) -> anyhow::Result<Self> {
        let fields = columns.names().into_iter().enumerate().map(|(at, name)| {
            if columns.because && name == "because" {
                return reasons();
            }
            let kind = match name.as_str() {
                _ if at == 0 && columns.keys == KeyKind::Numbers => Physical::INT64,
                _ if at == 0 => Physical::BYTE_ARRAY,
                "rank" => Physical::INT64,
                "queue" | "answer" | "outside" => Physical::BYTE_ARRAY,
                _ => Physical::FLOAT,
            };
            let repetition = if name == "outside" {
                Repetition::OPTIONAL
            } else {
                Repetition::REQUIRED
            };
            leaf(&name, kind, repetition)
        });
        let fields = fields.collect::<anyhow::Result<Vec<_>>>()?;
        let schema = Type::group_type_builder("scored")
            .with_fields(fields)
            .build()?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .build();
        let writer =
            SerializedFileWriter::new(destination, Arc::new(schema), Arc::new(properties))?;
        Ok(Self {
            writer,
            group: Group::default(),
        })
    }

    pub(super) fn add(&mut self, columns: &Columns, lines: &Lines<'_>) -> anyhow::Result<()> {
        let (scored, k) = (lines.scored, columns.classes.len());
        let text = |text: &str| ByteArray::from(text.as_bytes().to_vec());
        let classes: Vec<ByteArray> = columns.classes.iter().map(|name| text(name)).collect();
        for row in 0..scored.answers.len() {
            let group = &mut self.group;
            match lines.keys {
                Keys::Ids(ids) => group.ids.push(text(&ids[row])),
                Keys::Numbers(numbers) => group.numbers.push(i64::try_from(numbers[row])?),
            }
            if let Some(queue) = lines.queue {
                group.queues.push(classes[queue[row].0].clone());
                group.ranks.push(i64::try_from(queue[row].1)?);
            }
            group.answers.push(classes[scored.answers[row]].clone());
            group.figures.resize(2 * k + 1, Vec::new());
            for (column, figure) in group.figures.iter_mut().zip(lines.figures(row, k)) {
                column.push(*figure);
            }
            let is_outside = scored.outside[row].is_some();
            group.is_outside.push(i16::from(is_outside));
            if let Some(feature) = scored.outside[row] {
                group.outside.push(text(&columns.features[feature]));
            }
            let reasons = lines.because.iter().flat_map(|all| &all[row]);
            for (at, reason) in reasons.enumerate() {
                let because = &mut group.because;
                because.columns.push(text(&reason.column));
                because.values.push(text(&reason.value.to_string()));
                because.effects.push(reason.effect);
                because.repeats.push(i16::from(at > 0));
            }
            group.n_rows += 1;
            if group.n_rows == GROUP_ROWS {
                self.write_group(columns)?;
            }
        }
        Ok(())
    }

    fn write_group(&mut self, columns: &Columns) -> anyhow::Result<()> {
        let group = std::mem::take(&mut self.group);
        let mut rows = self.writer.next_row_group()?;
        if group.ids.is_empty() {
            column::<Int64Type>(&mut rows, &group.numbers, None, None)?;
        } else {
            column::<ByteArrayType>(&mut rows, &group.ids, None, None)?;
        }
        if columns.queue {
            column::<ByteArrayType>(&mut rows, &group.queues, None, None)?;
            column::<Int64Type>(&mut rows, &group.ranks, None, None)?;
        }
        column::<ByteArrayType>(&mut rows, &group.answers, None, None)?;
        for figures in &group.figures {
            column::<FloatType>(&mut rows, figures, None, None)?;
        }
        column::<ByteArrayType>(&mut rows, &group.outside, Some(&group.is_outside), None)?;
        if columns.because {
            let because = &group.because;
            let (there, repeats) = (vec![1; because.repeats.len()], Some(&because.repeats[..]));
            column::<ByteArrayType>(&mut rows, &because.columns, Some(&there), repeats)?;
            column::<ByteArrayType>(&mut rows, &because.values, Some(&there), repeats)?;
            column::<FloatType>(&mut rows, &because.effects, Some(&there), repeats)?;
        }
        rows.close()?;
        Ok(())
    }

    /// Writes what is left, and the footer.
    pub(super) fn end(mut self, columns: &Columns) -> anyhow::Result<Destination> {
        if self.group.n_rows > 0 {
            self.write_group(columns)?;
        }
        Ok(self.writer.into_inner()?)
    }
}

/// The field of a number or a text.
fn leaf(name: &str, kind: Physical, repetition: Repetition) -> anyhow::Result<Arc<Type>> {
    let text = (kind == Physical::BYTE_ARRAY).then_some(LogicalType::String);
    let leaf = Type::primitive_type_builder(name, kind)
        .with_repetition(repetition)
        .with_logical_type(text)
        .build()?;
    Ok(Arc::new(leaf))
}

/// The field of a list of groups.
fn reasons() -> anyhow::Result<Arc<Type>> {
    let group = |name: &'static str, repetition: Repetition, fields: Vec<Arc<Type>>| {
        Type::group_type_builder(name)
            .with_repetition(repetition)
            .with_fields(fields)
    };
    let leaves = vec![
        leaf("column", Physical::BYTE_ARRAY, Repetition::REQUIRED)?,
        leaf("value", Physical::BYTE_ARRAY, Repetition::REQUIRED)?,
        leaf("effect", Physical::FLOAT, Repetition::REQUIRED)?,
    ];
    let element = group("element", Repetition::REQUIRED, leaves).build()?;
    let list = group("list", Repetition::REPEATED, vec![Arc::new(element)]).build()?;
    let field = group("because", Repetition::REQUIRED, vec![Arc::new(list)])
        .with_logical_type(Some(LogicalType::List))
        .build()?;
    Ok(Arc::new(field))
}

/// Writes the next column of a group.
fn column<T: DataType>(
    rows: &mut SerializedRowGroupWriter<'_, Destination>,
    values: &[T::T],
    levels: Option<&[i16]>,
    repeats: Option<&[i16]>,
) -> anyhow::Result<()> {
    let next = rows.next_column()?;
    let mut column = next.ok_or_else(|| anyhow::anyhow!("more columns than the file has"))?;
    column.typed::<T>().write_batch(values, levels, repeats)?;
    column.close()?;
    Ok(())
}
