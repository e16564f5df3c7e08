//! Reading folders of images for training.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::block::Header;
use super::check::{CheckInput, DataCheck, Sampling};
use super::error::{Result, TableError};
use super::fill::check_matrix;
use super::format::InputFormat;
use super::images::{ImageFile, ImageInfo, Listing, fill, list, load, probe};
use super::input::TableInput;
use super::labels::{self, ConventionOrigin, LabelCheck, MarkerCount, UNLABELED_WORDS, canonical};
use super::options::{Decimal, ImageSize, LabelConvention, TableOptions, UnlabeledMarker};
use super::read::MpuTable;
use super::schema::{FeatureSchema, SCHEMA_VERSION};
use crate::{Features, MpuLabel, Shape};

/// Reads a folder with a folder for each class, and one, or a second folder, of unlabelled images.
///
/// Values are 0 to 255. Images are grey if all of them are, else each has three channels.
pub(super) fn read_images(input: &TableInput, options: &TableOptions) -> Result<MpuTable> {
    check_options(input, options)?;
    let Listing {
        mut images,
        mut skipped,
        empty,
    } = list(input.path())?;
    if let Some(image) = images.iter().find(|image| image.folder.is_none()) {
        return Err(TableError::options(
            &image.path,
            "an image must be in a folder named after its class, or in `unlabeled`",
        ));
    }
    let n_main = images.len();
    if n_main == 0 {
        return Err(input.options(format!(
            "no images: .png, .jpg and .jpeg files in folders named after classes are read \
             ({skipped} other files)\n\
             hint: make a folder for each class and one called `unlabeled`, and put the images there"
        )));
    }
    let mut files = vec![input.path().to_path_buf()];
    if let Some(pool) = &options.unlabeled {
        let more = list(pool.path())?;
        images.extend(more.images);
        skipped += more.skipped;
        files.push(pool.path().to_path_buf());
    }
    let (class_names, labels, label_check) = label(&images, n_main, input, options)?;
    let shape = common_shape(&images, options)?;
    check_matrix(
        input.path(),
        images.len() as u64,
        shape.len(),
        options.limits.matrix_bytes,
    )?;
    let mut matrix = vec![0.0; images.len() * shape.len()];
    fill(
        &images,
        shape,
        options.image_size,
        &options.limits,
        &mut matrix,
    )?;
    let features =
        Features::new(matrix, shape).map_err(|error| input.options(error.to_string()))?;
    let schema = FeatureSchema {
        version: SCHEMA_VERSION,
        columns: Vec::new(),
        shape,
        label_column: None,
        id_column: None,
        excluded: Vec::new(),
        missing: options.missing,
        missing_markers: Vec::new(),
        image_size: options.image_size,
        delimiter: None,
        decimal: Decimal::default(),
        class_words: Vec::new(),
    };
    let sampling = match &options.unlabeled {
        Some(_) => Sampling::two_files(),
        None => Sampling::one_file(),
    };
    let check = DataCheck::new(&CheckInput {
        files,
        format: InputFormat::Images,
        header: &Header::plain(Vec::new()),
        schema: &schema,
        features: &features,
        labels: &labels,
        class_names: &class_names,
        ids: &[],
        gaps: &[],
        mixed: &[],
        separated: Vec::new(),
        padded: Vec::new(),
        rounded: Vec::new(),
        nested: nested(&images),
        empty_folders: empty,
        skipped_files: skipped,
        label_check,
        sampling,
    });
    Ok(MpuTable {
        features,
        labels,
        class_names,
        ids: Some(images.into_iter().map(|image| image.id).collect()),
        schema,
        check,
    })
}

/// Refuses what is said of columns, and sizes without a pixel.
fn check_options(input: &TableInput, options: &TableOptions) -> Result<()> {
    let columns = options.label_column.is_some()
        || options.id_column.is_some()
        || !options.exclude.is_empty()
        || options.positives.is_some();
    if columns {
        return Err(input.options(
            "images have no columns\n\
             hint: the folder of an image is its label, and its path is its id",
        ));
    }
    if options
        .image_size
        .is_some_and(|size| size.width == 0 || size.height == 0)
    {
        return Err(input.options("an image size needs at least one pixel each way"));
    }
    Ok(())
}

/// Folders within folders, with their images.
fn nested(images: &[ImageFile]) -> Vec<(String, u64)> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for folder in images.iter().filter_map(ImageFile::nested) {
        *counts.entry(folder).or_default() += 1;
    }
    let counts = counts.into_iter();
    counts.map(|(name, n)| (name.to_owned(), n)).collect()
}

type Labels = (Vec<String>, Vec<MpuLabel>, LabelCheck);

fn label(
    images: &[ImageFile],
    n_main: usize,
    input: &TableInput,
    options: &TableOptions,
) -> Result<Labels> {
    let is_unlabeled = |folder: &str| match &options.convention {
        LabelConvention::Auto => UNLABELED_WORDS.contains(&folder.to_lowercase().as_str()),
        LabelConvention::Marked(markers) => markers
            .iter()
            .any(|marker| marker.to_string().to_lowercase() == folder.to_lowercase()),
    };
    let mut marked: BTreeMap<&str, u64> = BTreeMap::new();
    let mut names: BTreeMap<String, u64> = BTreeMap::new();
    for image in &images[..n_main] {
        let folder = image.folder.as_deref().unwrap_or_default();
        if is_unlabeled(folder) {
            *marked.entry(folder).or_default() += 1;
        } else {
            *names.entry(canonical(folder)).or_default() += 1;
        }
    }
    let class_names: Vec<String> = names.keys().cloned().collect();
    let labels: Vec<MpuLabel> = images
        .iter()
        .enumerate()
        .map(|(i, image)| {
            let folder = image.folder.as_deref().unwrap_or_default();
            if i >= n_main || is_unlabeled(folder) {
                return MpuLabel::Unlabeled;
            }
            let class = class_names.binary_search(&canonical(folder));
            class.map_or(MpuLabel::Unlabeled, MpuLabel::Labeled)
        })
        .collect();
    let labeled = names.values().sum();
    labels::check_counts(
        input.path(),
        &class_names,
        labeled,
        labels.len() as u64,
        None,
    )?;
    let check = LabelCheck {
        origin: match options.convention {
            LabelConvention::Auto => ConventionOrigin::Files,
            LabelConvention::Marked(_) => ConventionOrigin::Given,
        },
        markers: marked
            .into_iter()
            .map(|(folder, rows)| MarkerCount {
                marker: UnlabeledMarker::Word(folder.to_owned()),
                rows,
            })
            .collect(),
        unlabeled_by_file: (images.len() - n_main) as u64,
        notes: Vec::new(),
        blank_words: BTreeMap::new(),
    };
    Ok((class_names, labels, check))
}

/// The shape of all images: their common size, or the one asked for.
fn common_shape(images: &[ImageFile], options: &TableOptions) -> Result<Shape> {
    let infos: Vec<Result<ImageInfo>> = images
        .par_iter()
        .map(|image| {
            probe(
                &image.path,
                &load(&image.path, &options.limits)?,
                &options.limits,
            )
        })
        .collect();
    let mut first: Option<ImageSize> = None;
    let mut grey = true;
    for (image, info) in images.iter().zip(infos) {
        let info = info?;
        grey &= info.grey;
        let expected = *first.get_or_insert(info.size);
        if options.image_size.is_none() && info.size != expected {
            return Err(TableError::image_size(&image.path, info.size, expected));
        }
    }
    let size = options.image_size.or(first).unwrap_or(ImageSize {
        width: 0,
        height: 0,
    });
    Ok(Shape::image(
        if grey { 1 } else { 3 },
        size.height as usize,
        size.width as usize,
    ))
}
