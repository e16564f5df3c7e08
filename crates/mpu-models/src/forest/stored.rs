//! A forest as bytes: a safetensors file, and nothing in it is trusted when it is read.

use std::borrow::Cow;

use mpu_data::Seed;
use safetensors::tensor::{Dtype, SafeTensors, View};
use serde::{Deserialize, Serialize};

use super::Forest;
use super::bins::{Bins, Cut, MAX_BINS};
use super::layout::{Column, Layout};
use super::spec::ForestSpec;
use super::targets::Targets;
use super::tree::{LEAF, Node, Ranking, Tree};
use crate::error::{Error, Result};

/// The version of the layout of the file.
const VERSION: u32 = 1;

/// What a file holds beside its blocks of numbers.
#[derive(Serialize, Deserialize)]
struct Header {
    version: u32,
    spec: ForestSpec,
    seed: Seed,
    n_classes: usize,
    layout: Layout,
}

/// The error of bytes that are no forest.
fn damaged(what: impl std::fmt::Display) -> Error {
    Error::Damaged {
        what: what.to_string(),
    }
}

impl Forest {
    /// The forest as a safetensors file. The rows it was grown from are not in it.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let header = Header {
            version: VERSION,
            spec: self.spec,
            seed: self.seed,
            n_classes: self.n_classes,
            layout: self.bins.layout().clone(),
        };
        let header = serde_json::to_vec(&header).map_err(damaged)?;
        let (cuts, trees) = (self.bins.cuts(), &self.trees);
        let sizes = cuts.iter().map(|cut| match cut {
            Cut::Edges(edges) => edges.len() as u32,
            Cut::Codes(codes) => codes.len() as u32,
        });
        let edges = cuts.iter().filter_map(|cut| match cut {
            Cut::Edges(edges) => Some(edges),
            Cut::Codes(_) => None,
        });
        let codes = cuts.iter().filter_map(|cut| match cut {
            Cut::Codes(codes) => Some(codes),
            Cut::Edges(_) => None,
        });
        let nodes = trees.iter().flat_map(|tree| &tree.nodes);
        let leaves = trees.iter().map(|tree| tree.leaf_starts.len() as u32 - 1);
        let starts = trees.iter().flat_map(|tree| tree.leaf_starts.windows(2));
        let blocks = [
            ("header.json", Numbers::new(header.iter().copied())),
            ("bins.sizes", Numbers::new(sizes)),
            ("bins.edges", Numbers::new(edges.flatten().copied())),
            ("bins.codes", Numbers::new(codes.flatten().copied())),
            (
                "trees.nodes",
                Numbers::new(trees.iter().map(|tree| tree.nodes.len() as u32)),
            ),
            ("trees.leaves", Numbers::new(leaves)),
            (
                "trees.ranks",
                Numbers::new(trees.iter().flat_map(|tree| &tree.ranks).copied()),
            ),
            (
                "nodes.columns",
                Numbers::new(nodes.clone().map(|node| node.column)),
            ),
            (
                "nodes.children",
                Numbers::new(nodes.clone().map(|node| node.child)),
            ),
            (
                "nodes.thresholds",
                Numbers::new(nodes.clone().map(|node| node.threshold)),
            ),
            (
                "nodes.missing",
                Numbers::new(nodes.map(|node| node.missing_left)),
            ),
            (
                "leaves.sizes",
                Numbers::new(starts.map(|pair| (pair[1] - pair[0]) as u16)),
            ),
            (
                "leaves.classes",
                Numbers::new(trees.iter().flat_map(|tree| &tree.leaf_classes).copied()),
            ),
            (
                "leaves.shares",
                Numbers::new(trees.iter().flat_map(|tree| &tree.leaf_shares).copied()),
            ),
        ];
        safetensors::serialize(blocks, None).map_err(damaged)
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote. Every number is checked, so that a damaged file gives an error
    /// and never a forest that fails later.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let file = SafeTensors::deserialize(bytes).map_err(damaged)?;
        let header = file.tensor("header.json").map_err(damaged)?;
        let header: Header = serde_json::from_slice(header.data()).map_err(damaged)?;
        let Header {
            version,
            spec,
            seed,
            n_classes,
            layout,
        } = header;
        if version != VERSION {
            let what = format!("it has version {version}, and this build reads {VERSION}");
            return Err(damaged(what));
        }
        spec.check()?;
        if !(2..=Targets::MAX_CLASSES).contains(&n_classes) {
            return Err(damaged(format!("it has {n_classes} classes")));
        }
        let bins = read_bins(&file, layout)?;
        let ranking = Ranking::new(&bins);
        let trees = read_trees(&file, &bins, &ranking, n_classes)?;
        if trees.len() != spec.trees {
            let (found, needed) = (trees.len(), spec.trees);
            return Err(damaged(format!("{found} trees where there were {needed}")));
        }
        Ok(Self {
            spec,
            seed,
            n_classes,
            bins,
            ranking,
            trees,
        })
    }
}

fn read_bins(file: &SafeTensors<'_>, layout: Layout) -> Result<Bins> {
    let mut sizes = Block::<u32>::read(file, "bins.sizes")?;
    let mut edges = Block::<f32>::read(file, "bins.edges")?;
    let mut codes = Block::<u8>::read(file, "bins.codes")?;
    let mut cuts = Vec::new();
    for &column in layout.columns() {
        let size = sizes.take(1)?[0] as usize;
        cuts.push(match column {
            Column::Numeric => {
                let edges = edges.take(size)?;
                let rising = edges.is_sorted_by(|a, b| a < b);
                let finite = edges.iter().all(|edge| edge.is_finite());
                ensure(rising && finite && size < MAX_BINS, "bins.edges")?;
                Cut::Edges(edges)
            }
            Column::Categorical(n) => {
                let codes = codes.take(size)?;
                let allowed = codes.iter().all(|&code| (code as usize) < MAX_BINS);
                ensure(size == n && allowed, "bins.codes")?;
                Cut::Codes(codes)
            }
        });
    }
    sizes.end()?;
    edges.end()?;
    codes.end()?;
    Ok(Bins::from_parts(layout, cuts))
}

fn read_trees(
    file: &SafeTensors<'_>,
    bins: &Bins,
    ranking: &Ranking,
    n_classes: usize,
) -> Result<Vec<Tree>> {
    let mut node_counts = Block::<u32>::read(file, "trees.nodes")?;
    let mut leaf_counts = Block::<u32>::read(file, "trees.leaves")?;
    let mut ranks = Block::<u8>::read(file, "trees.ranks")?;
    let mut columns = Block::<u32>::read(file, "nodes.columns")?;
    let mut children = Block::<u32>::read(file, "nodes.children")?;
    let mut thresholds = Block::<u8>::read(file, "nodes.thresholds")?;
    let mut missing = Block::<u8>::read(file, "nodes.missing")?;
    let mut leaf_sizes = Block::<u16>::read(file, "leaves.sizes")?;
    let mut classes = Block::<u16>::read(file, "leaves.classes")?;
    let mut shares = Block::<f32>::read(file, "leaves.shares")?;
    let mut trees = Vec::new();
    while !node_counts.is_empty() {
        let n_nodes = node_counts.take(1)?[0] as usize;
        let n_leaves = leaf_counts.take(1)?[0] as usize;
        let (columns, children) = (columns.take(n_nodes)?, children.take(n_nodes)?);
        let (thresholds, missing) = (thresholds.take(n_nodes)?, missing.take(n_nodes)?);
        let mut nodes = Vec::with_capacity(n_nodes);
        for i in 0..n_nodes {
            nodes.push(Node {
                column: columns[i],
                child: children[i],
                threshold: thresholds[i],
                missing_left: missing[i],
            });
        }
        let mut leaf_starts = vec![0];
        let mut end = 0_u32;
        for size in leaf_sizes.take(n_leaves)? {
            end = end.saturating_add(u32::from(size));
            leaf_starts.push(end);
        }
        let tree = Tree {
            nodes,
            leaf_starts,
            leaf_classes: classes.take(end as usize)?,
            leaf_shares: shares.take(end as usize)?,
            ranks: ranks.take(ranking.len())?,
        };
        check_tree(&tree, bins, ranking, n_classes)?;
        trees.push(tree);
    }
    leaf_counts.end()?;
    ranks.end()?;
    columns.end()?;
    children.end()?;
    thresholds.end()?;
    missing.end()?;
    leaf_sizes.end()?;
    classes.end()?;
    shares.end()?;
    Ok(trees)
}

fn check_tree(tree: &Tree, bins: &Bins, ranking: &Ranking, n_classes: usize) -> Result<()> {
    let n_leaves = tree.leaf_starts.len() - 1;
    ensure(!tree.nodes.is_empty(), "trees.nodes")?;
    for (i, node) in tree.nodes.iter().enumerate() {
        let child = node.child as usize;
        if node.column == LEAF {
            ensure(child < n_leaves, "nodes.children")?;
            continue;
        }
        // Both children stand behind their node: a walk goes on and ends.
        ensure(child > i && child + 1 < tree.nodes.len(), "nodes.children")?;
        ensure((node.column as usize) < bins.cuts().len(), "nodes.columns")?;
        ensure((node.threshold as usize) < MAX_BINS, "nodes.thresholds")?;
        ensure(node.missing_left < 2, "nodes.missing")?;
    }
    let known = |&class: &u16| (class as usize) < n_classes;
    ensure(tree.leaf_classes.iter().all(known), "leaves.classes")?;
    let share = |share: &f32| (0.0..=1.0).contains(share);
    ensure(tree.leaf_shares.iter().all(share), "leaves.shares")?;
    for (column, cut) in bins.cuts().iter().enumerate() {
        if let Some(start) = ranking.start(column) {
            let n_bins = cut.n_bins();
            let mut ranks = tree.ranks[start..start + n_bins].iter();
            ensure(ranks.all(|&rank| (rank as usize) < n_bins), "trees.ranks")?;
        }
    }
    Ok(())
}

fn ensure(holds: bool, block: &str) -> Result<()> {
    if holds {
        return Ok(());
    }
    Err(damaged(format!("a number of `{block}` is out of range")))
}

/// A number of a block.
trait Number: Copy {
    const DTYPE: Dtype;
    fn push(self, to: &mut Vec<u8>);
    fn read(bytes: &[u8]) -> Vec<Self>;
}

macro_rules! number {
    ($type:ty, $dtype:ident) => {
        impl Number for $type {
            const DTYPE: Dtype = Dtype::$dtype;

            fn push(self, to: &mut Vec<u8>) {
                to.extend_from_slice(&self.to_le_bytes());
            }

            fn read(bytes: &[u8]) -> Vec<Self> {
                let chunks = bytes.as_chunks::<{ size_of::<$type>() }>().0;
                chunks
                    .iter()
                    .map(|chunk| Self::from_le_bytes(*chunk))
                    .collect()
            }
        }
    };
}

number!(u8, U8);
number!(u16, U16);
number!(u32, U32);
number!(f32, F32);

/// A block of numbers that become bytes only when they are written, so that a forest is in memory once and not several
/// times.
struct Numbers<'a> {
    dtype: Dtype,
    shape: [usize; 1],
    bytes: Box<dyn Fn() -> Vec<u8> + 'a>,
}

impl<'a> Numbers<'a> {
    fn new<T: Number>(numbers: impl Iterator<Item = T> + Clone + 'a) -> Self {
        let len = numbers.clone().count();
        let bytes = move || {
            let mut bytes = Vec::with_capacity(len * size_of::<T>());
            for number in numbers.clone() {
                number.push(&mut bytes);
            }
            bytes
        };
        Self {
            dtype: T::DTYPE,
            shape: [len],
            bytes: Box::new(bytes),
        }
    }
}

impl View for Numbers<'_> {
    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Owned((self.bytes)())
    }

    fn data_len(&self) -> usize {
        self.shape[0] * self.dtype.bitsize() / 8
    }
}

/// A block of numbers that is taken part by part.
struct Block<'a, T> {
    name: &'static str,
    bytes: &'a [u8],
    of: std::marker::PhantomData<T>,
}

impl<'a, T: Number> Block<'a, T> {
    fn read(file: &SafeTensors<'a>, name: &'static str) -> Result<Self> {
        let tensor = file.tensor(name).map_err(damaged)?;
        if tensor.dtype() != T::DTYPE {
            return Err(damaged(format!("`{name}` is of another kind")));
        }
        Ok(Self {
            name,
            bytes: tensor.data(),
            of: std::marker::PhantomData,
        })
    }

    fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    fn take(&mut self, n: usize) -> Result<Vec<T>> {
        let len = n.checked_mul(size_of::<T>());
        let Some((taken, rest)) = len.and_then(|len| self.bytes.split_at_checked(len)) else {
            return Err(damaged(format!("`{}` is too short", self.name)));
        };
        self.bytes = rest;
        Ok(T::read(taken))
    }

    fn end(&self) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        Err(damaged(format!("`{}` is too long", self.name)))
    }
}
