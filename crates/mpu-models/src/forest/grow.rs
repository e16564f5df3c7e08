//! How one tree grows.

use mpu_data::split::draw::below;
use rand::Rng;

use super::bins::{BinnedRows, Bins};
use super::sample::{self, Bags, Item};
use super::spec::{ForestSpec, Splits};
use super::split::{Found, LANES, Scratch, Search, Split, Totals};
use super::targets::Targets;
use super::tree::{Node, Ranking, Tree};

/// What all trees of a forest are grown from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ground<'a> {
    pub(crate) spec: &'a ForestSpec,
    pub(crate) bins: &'a Bins,
    pub(crate) ranking: &'a Ranking,
    pub(crate) rows: &'a BinnedRows,
    pub(crate) targets: &'a Targets,
    /// The rows that count.
    pub(crate) used: &'a [u32],
    /// How they are drawn.
    pub(crate) bags: &'a Bags,
}

/// Grows trees one after the other, in the same memory.
#[derive(Debug)]
pub(crate) struct Grower<'a> {
    ground: Ground<'a>,
    /// The rows in the bag; those of a node stand together.
    items: Vec<Item>,
    /// Rows that go right, while a node is parted.
    apart: Vec<Item>,
    /// The columns; those that a node has drawn stand first.
    columns: Vec<u32>,
    totals: Totals,
    scratch: Scratch,
}

/// A node whose rows are not yet parted.
struct Open {
    node: usize,
    start: usize,
    end: usize,
}

impl<'a> Grower<'a> {
    pub(crate) fn new(ground: Ground<'a>) -> Self {
        let n_classes = ground.targets.n_classes();
        Self {
            ground,
            items: Vec::new(),
            apart: Vec::new(),
            columns: Vec::new(),
            totals: Totals::new(n_classes),
            scratch: Scratch::new(n_classes),
        }
    }

    /// A tree, from its own generator.
    pub(crate) fn grow(&mut self, rng: &mut impl Rng) -> Tree {
        let Ground {
            spec,
            bins,
            ranking,
            rows,
            targets,
            used,
            bags,
        } = self.ground;
        let counts = bags.draw(rng);
        let drawn = used.iter().zip(counts).filter(|&(_, count)| count > 0);
        self.items.clear();
        self.items
            .extend(drawn.map(|(&row, count)| Item::new(row, count, targets)));
        let ranks = sample::ranks(bins, ranking, rows, targets, &self.items, rng);
        self.columns.clear();
        self.columns.extend(0..rows.n_columns() as u32);
        self.apart.resize(self.items.len(), Item::default());

        let mut tree = Tree {
            nodes: vec![Node::leaf(0)],
            leaf_starts: vec![0],
            ranks,
            ..Tree::default()
        };
        let mut open = vec![Open {
            node: 0,
            start: 0,
            end: self.items.len(),
        }];
        while let Some(Open { node, start, end }) = open.pop() {
            let weight = self.totals.count(&self.items[start..end], targets);
            let leaf = weight < 2.0 * f64::from(spec.min_leaf) || self.totals.is_pure();
            let split = if leaf {
                None
            } else {
                self.find(&tree.ranks, start..end, rng)
            };
            let Some(split) = split else {
                tree.nodes[node] = Node::leaf(tree.leaf_starts.len() - 1);
                for (class, of_class) in self.totals.iter() {
                    tree.leaf_classes.push(class);
                    tree.leaf_shares.push((f64::from(of_class) / weight) as f32);
                }
                tree.leaf_starts.push(tree.leaf_classes.len() as u32);
                continue;
            };
            let child = tree.nodes.len();
            tree.nodes[node] = Node {
                child: child as u32,
                ..split.node
            };
            tree.nodes.extend([Node::leaf(0); 2]);
            let middle = start + self.part(&tree.ranks, start..end, split.node);
            open.push(Open {
                node: child + 1,
                start: middle,
                end,
            });
            open.push(Open {
                node: child,
                start,
                end: middle,
            });
        }
        tree.nodes.shrink_to_fit();
        tree.leaf_starts.shrink_to_fit();
        tree.leaf_classes.shrink_to_fit();
        tree.leaf_shares.shrink_to_fit();
        tree
    }

    /// The best split of a node among the columns it draws. Where all of them are constant in the node, it draws more.
    fn find(
        &mut self,
        ranks: &[u8],
        node: std::ops::Range<usize>,
        rng: &mut impl Rng,
    ) -> Option<Split> {
        let spec = self.ground.spec;
        let n_columns = self.columns.len();
        let tried = spec.columns.of(n_columns);
        let mut best: Option<Split> = None;
        let (mut seen, mut constant) = (0, true);
        while seen < n_columns && (seen < tried || constant) {
            let most = if seen < tried { tried } else { n_columns };
            let end = most.min(seen + LANES);
            for place in seen..end {
                let other = place + below((n_columns - place) as u64, rng) as usize;
                self.columns.swap(place, other);
            }
            self.gather(ranks, node.clone(), seen..end);
            let search = Search {
                bins: self.ground.bins,
                items: &self.items[node.clone()],
                targets: self.ground.targets,
                totals: &self.totals,
                min_leaf: spec.min_leaf,
                columns: &self.columns[seen..end],
            };
            let found = match spec.splits {
                Splits::Random => search.random(&mut self.scratch, rng),
                Splits::Best => search.best(&mut self.scratch),
            };
            constant &= found == Found::Constant;
            if let Found::Split(split) = found
                && best.is_none_or(|best| best.score < split.score)
            {
                best = Some(split);
            }
            seen = end;
        }
        best
    }

    /// Brings the bins of a node's rows in some of the columns together.
    fn gather(
        &mut self,
        ranks: &[u8],
        node: std::ops::Range<usize>,
        drawn: std::ops::Range<usize>,
    ) {
        let Ground { rows, ranking, .. } = self.ground;
        let drawn = &self.columns[drawn];
        let n_columns = rows.n_columns();
        let places: [usize; LANES] =
            std::array::from_fn(|j| drawn[j.min(drawn.len() - 1)] as usize);
        let panel = &mut self.scratch.panel;
        panel.clear();
        panel.extend(self.items[node].iter().map(|item| {
            let row = &rows.codes()[item.row as usize * n_columns..][..n_columns];
            places.map(|place| row[place])
        }));
        for (j, &column) in drawn.iter().enumerate() {
            if ranking.start(column as usize).is_some() {
                for codes in panel.iter_mut() {
                    codes[j] = ranking.ranked(ranks, column as usize, codes[j]);
                }
            }
        }
    }

    /// Brings the rows that go left before the others, each in the order they had; how many go left.
    fn part(&mut self, ranks: &[u8], range: std::ops::Range<usize>, node: Node) -> usize {
        let Ground { rows, ranking, .. } = self.ground;
        let (n_columns, column) = (rows.n_columns(), node.column as usize);
        let items = &mut self.items[range];
        let (mut left, mut right) = (0, 0);
        for i in 0..items.len() {
            let item = items[i];
            let code = rows.codes()[item.row as usize * n_columns + column];
            let goes = node.goes_left(ranking.ranked(ranks, column, code));
            items[left] = item;
            self.apart[right] = item;
            left += usize::from(goes);
            right += usize::from(!goes);
        }
        items[left..].copy_from_slice(&self.apart[..right]);
        left
    }
}
