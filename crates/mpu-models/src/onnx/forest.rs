//! A forest as an ONNX model.

use std::collections::BTreeMap;

use super::graph::{Attribute, Graph};
use super::{FEATURES, SINGLE_MAX};
use crate::error::{Result, setting};
use crate::forest::{Column, Cut, Forest, LEAF, Tree};

/// A forest, and how its votes become scores.
///
/// ```text
/// f_j = ln((trees · share_j + extra) / (trees + k · extra))
/// ```
///
/// `share_j` is what [`Forest::probabilities`] gives.
///
/// The trees are one `TreeEnsembleClassifier`. Each tree orders the categories of a column in its own way, so the model
/// first makes numbers of them: the one-hot features of a column times a table with the ranks of every tree that uses
/// it, and NaN where no category is set.
#[derive(Debug, Clone, Copy)]
pub struct Votes<'a> {
    /// The forest.
    pub forest: &'a Forest,
    /// The votes that each class gets beside those of the trees: above 0, so that scores are finite.
    pub extra: f64,
}

impl Votes<'_> {
    /// How many features a row has.
    pub(super) fn inputs(&self) -> usize {
        self.forest.bins().layout().width()
    }

    /// How many scores a row gets.
    pub(super) fn outputs(&self) -> usize {
        self.forest.n_classes()
    }

    /// Adds the forest and its scores.
    pub(super) fn add(&self, graph: &mut Graph, scores: &str) -> Result<()> {
        let &Self { forest, extra } = self;
        if !(extra > 0.0 && extra <= SINGLE_MAX) {
            let needed = "above 0 and finite";
            return Err(setting("votes of a class beside the trees'", extra, needed));
        }
        let ranked = Ranked::add(graph, forest);
        let ensemble = Ensemble::new(forest, &ranked);
        ensemble.add(graph, &ranked.input, "forest.shares", self.outputs());
        let trees = forest.trees().len() as f64;
        let all = trees + extra * self.outputs() as f64;
        graph.floats("forest.trees", &[], &[(trees / all) as f32]);
        graph.floats("forest.extra", &[], &[(extra / all) as f32]);
        let (votes, smooth) = ("forest.votes", "forest.smooth");
        graph.node("Mul", &["forest.shares", "forest.trees"], votes, &[]);
        graph.node("Add", &[votes, "forest.extra"], smooth, &[]);
        graph.node("Log", &[smooth], scores, &[]);
        Ok(())
    }
}

/// The features that trees read: the encoded row, and behind it the ranks of categories.
struct Ranked {
    /// The name of these rows.
    input: String,
    /// The feature of each numeric column; the first one of each categorical column.
    starts: Vec<usize>,
    /// The feature with the ranks of a tree and a column.
    places: BTreeMap<(usize, usize), usize>,
}

impl Ranked {
    fn add(graph: &mut Graph, forest: &Forest) -> Self {
        let layout = forest.bins().layout();
        let mut parts = vec![FEATURES.to_owned()];
        let (mut starts, mut places) = (Vec::new(), BTreeMap::new());
        let mut next = layout.width();
        for (column, (start, kind)) in layout.starts().enumerate() {
            starts.push(start);
            let (Cut::Codes(codes), Some(at)) = (
                &forest.bins().cuts()[column],
                forest.ranking().start(column),
            ) else {
                continue;
            };
            let uses = |tree: &Tree| tree.nodes.iter().any(|node| node.column == column as u32);
            let used: Vec<usize> = (0..forest.trees().len())
                .filter(|&tree| uses(&forest.trees()[tree]))
                .collect();
            if used.is_empty() {
                continue;
            }
            let mut table = Vec::with_capacity(codes.len() * used.len());
            for &code in codes {
                let rank = |&tree: &usize| forest.trees()[tree].ranks[at + code as usize];
                table.extend(used.iter().map(rank).map(f32::from));
            }
            parts.push(add_ranks(graph, column, start, kind, (&table, used.len())));
            for tree in used {
                places.insert((tree, column), next);
                next += 1;
            }
        }
        let input = if parts.len() == 1 {
            FEATURES.to_owned()
        } else {
            let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
            graph.node("Concat", &parts, "ranked", &[("axis", Attribute::Int(1))]);
            "ranked".to_owned()
        };
        Self {
            input,
            starts,
            places,
        }
    }
}

/// Adds the ranks of one column's categories, by a table with a row for each category; the name of the result.
fn add_ranks(
    graph: &mut Graph,
    column: usize,
    start: usize,
    kind: Column,
    (table, n_tables): (&[f32], usize),
) -> String {
    let name = |part: &str| format!("column{column}.{part}");
    let [starts, ends, axes] = ["start", "end", "axis"].map(name);
    graph.ints(&starts, &[start]);
    graph.ints(&ends, &[start + kind.width()]);
    graph.ints(&axes, &[1]);
    let [one_hot, tables, ranks] = ["one_hot", "tables", "ranks"].map(name);
    graph.node("Slice", &[FEATURES, &starts, &ends, &axes], &one_hot, &[]);
    graph.floats(&tables, &[kind.width(), n_tables], table);
    graph.node("MatMul", &[&one_hot, &tables], &ranks, &[]);
    // Where no category is set, the product is 0; where one is missing, it is NaN already.
    let [most, half, known, unknown, output] =
        ["most", "half", "known", "unknown", "ranked"].map(name);
    let axes = ("axes", Attribute::Ints(&[1]));
    graph.node("ReduceMax", &[&one_hot], &most, &[axes]);
    graph.floats(&half, &[], &[0.5]);
    graph.node("Greater", &[&most, &half], &known, &[]);
    graph.floats(&unknown, &[], &[f32::NAN]);
    graph.node("Where", &[&known, &ranks, &unknown], &output, &[]);
    output
}

/// The attributes of a `TreeEnsembleClassifier`: a number for each node, and one for each class of each leaf.
#[derive(Default)]
struct Ensemble {
    trees: Vec<usize>,
    nodes: Vec<usize>,
    features: Vec<usize>,
    thresholds: Vec<f32>,
    modes: Vec<&'static str>,
    lefts: Vec<usize>,
    rights: Vec<usize>,
    missing: Vec<usize>,
    leaf_trees: Vec<usize>,
    leaf_nodes: Vec<usize>,
    classes: Vec<usize>,
    shares: Vec<f32>,
}

impl Ensemble {
    fn new(forest: &Forest, ranked: &Ranked) -> Self {
        let mut all = Self::default();
        let n_trees = forest.trees().len() as f32;
        for (t, tree) in forest.trees().iter().enumerate() {
            for (n, node) in tree.nodes.iter().enumerate() {
                all.trees.push(t);
                all.nodes.push(n);
                if node.column == LEAF {
                    let leaf = node.child as usize;
                    let range =
                        tree.leaf_starts[leaf] as usize..tree.leaf_starts[leaf + 1] as usize;
                    for i in range {
                        all.class(t, n, tree.leaf_classes[i], tree.leaf_shares[i] / n_trees);
                    }
                    all.branch("LEAF", 0, 0.0, [0, 0, 0]);
                    continue;
                }
                let column = node.column as usize;
                let (feature, threshold) = match &forest.bins().cuts()[column] {
                    // Behind the last edge are only missing values.
                    Cut::Edges(edges) => {
                        let edge = edges.get(node.threshold as usize);
                        (
                            ranked.starts[column],
                            edge.copied().unwrap_or(f32::INFINITY),
                        )
                    }
                    Cut::Codes(_) => (ranked.places[&(t, column)], f32::from(node.threshold)),
                };
                let child = node.child as usize;
                let ways = [child, child + 1, usize::from(node.missing_left)];
                all.branch("BRANCH_LEQ", feature, threshold, ways);
            }
        }
        // Readers take an ensemble whose leaves name one class only for something else.
        let first = forest.trees().first();
        let leaf = first.and_then(|tree| tree.nodes.iter().position(|node| node.column == LEAF));
        for class in 0..forest.n_classes() {
            all.class(0, leaf.unwrap_or(0), class as u16, 0.0);
        }
        all
    }

    fn class(&mut self, tree: usize, node: usize, class: u16, share: f32) {
        self.leaf_trees.push(tree);
        self.leaf_nodes.push(node);
        self.classes.push(class as usize);
        self.shares.push(share);
    }

    fn branch(
        &mut self,
        mode: &'static str,
        feature: usize,
        threshold: f32,
        [left, right, missing]: [usize; 3],
    ) {
        self.modes.push(mode);
        self.features.push(feature);
        self.thresholds.push(threshold);
        self.lefts.push(left);
        self.rights.push(right);
        self.missing.push(missing);
    }

    fn add(&self, graph: &mut Graph, input: &str, output: &str, n_classes: usize) {
        let labels: Vec<usize> = (0..n_classes).collect();
        let attributes = [
            ("nodes_treeids", Attribute::Ints(&self.trees)),
            ("nodes_nodeids", Attribute::Ints(&self.nodes)),
            ("nodes_featureids", Attribute::Ints(&self.features)),
            ("nodes_values", Attribute::Floats(&self.thresholds)),
            ("nodes_modes", Attribute::Texts(&self.modes)),
            ("nodes_truenodeids", Attribute::Ints(&self.lefts)),
            ("nodes_falsenodeids", Attribute::Ints(&self.rights)),
            (
                "nodes_missing_value_tracks_true",
                Attribute::Ints(&self.missing),
            ),
            ("class_treeids", Attribute::Ints(&self.leaf_trees)),
            ("class_nodeids", Attribute::Ints(&self.leaf_nodes)),
            ("class_ids", Attribute::Ints(&self.classes)),
            ("class_weights", Attribute::Floats(&self.shares)),
            ("classlabels_int64s", Attribute::Ints(&labels)),
        ];
        let outputs = ["forest.classes", output];
        graph.classical("TreeEnsembleClassifier", &[input], &outputs, &attributes);
    }
}
