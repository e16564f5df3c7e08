//! A forest as bytes: a safetensors file, and nothing in it is trusted when it is read.

use mpu_data::Seed;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
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

/// The numbers of all trees, one tree after the other.
#[derive(Default)]
struct Blocks {
    /// Edges or categories of each column.
    bin_sizes: Vec<u32>,
    edges: Vec<f32>,
    codes: Vec<u8>,
    /// Nodes and leaves of each tree.
    tree_nodes: Vec<u32>,
    tree_leaves: Vec<u32>,
    columns: Vec<u32>,
    children: Vec<u32>,
    thresholds: Vec<u8>,
    missing: Vec<u8>,
    /// Classes of each leaf.
    leaf_sizes: Vec<u16>,
    classes: Vec<u16>,
    shares: Vec<f32>,
    ranks: Vec<u8>,
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
        let blocks = self.blocks();
        let blocks = [
            ("header.json", Dtype::U8, header),
            ("bins.sizes", Dtype::U32, bytes(&blocks.bin_sizes)),
            ("bins.edges", Dtype::F32, bytes(&blocks.edges)),
            ("bins.codes", Dtype::U8, blocks.codes),
            ("trees.nodes", Dtype::U32, bytes(&blocks.tree_nodes)),
            ("trees.leaves", Dtype::U32, bytes(&blocks.tree_leaves)),
            ("trees.ranks", Dtype::U8, blocks.ranks),
            ("nodes.columns", Dtype::U32, bytes(&blocks.columns)),
            ("nodes.children", Dtype::U32, bytes(&blocks.children)),
            ("nodes.thresholds", Dtype::U8, blocks.thresholds),
            ("nodes.missing", Dtype::U8, blocks.missing),
            ("leaves.sizes", Dtype::U16, bytes(&blocks.leaf_sizes)),
            ("leaves.classes", Dtype::U16, bytes(&blocks.classes)),
            ("leaves.shares", Dtype::F32, bytes(&blocks.shares)),
        ];
        let mut views = Vec::new();
        for (name, dtype, bytes) in &blocks {
            let len = bytes.len() * 8 / dtype.bitsize();
            let view = TensorView::new(*dtype, vec![len], bytes).map_err(damaged)?;
            views.push((*name, view));
        }
        safetensors::serialize(views, None).map_err(damaged)
    }

    fn blocks(&self) -> Blocks {
        let mut blocks = Blocks::default();
        for cut in self.bins.cuts() {
            match cut {
                Cut::Edges(edges) => {
                    blocks.bin_sizes.push(edges.len() as u32);
                    blocks.edges.extend(edges);
                }
                Cut::Codes(codes) => {
                    blocks.bin_sizes.push(codes.len() as u32);
                    blocks.codes.extend(codes);
                }
            }
        }
        for tree in &self.trees {
            blocks.tree_nodes.push(tree.nodes.len() as u32);
            blocks.tree_leaves.push(tree.leaf_starts.len() as u32 - 1);
            for node in &tree.nodes {
                blocks.columns.push(node.column);
                blocks.children.push(node.child);
                blocks.thresholds.push(node.threshold);
                blocks.missing.push(node.missing_left);
            }
            let sizes = tree.leaf_starts.windows(2).map(|pair| pair[1] - pair[0]);
            blocks.leaf_sizes.extend(sizes.map(|size| size as u16));
            blocks.classes.extend(&tree.leaf_classes);
            blocks.shares.extend(&tree.leaf_shares);
            blocks.ranks.extend(&tree.ranks);
        }
        blocks
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

fn bytes<T: Number>(values: &[T]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(size_of_val(values));
    for value in values {
        value.push(&mut bytes);
    }
    bytes
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
