//! A small table of items made by code, and runs trained on it, for the tests of what follows training.

use std::fmt::Write as _;
use std::sync::OnceLock;

use crate::support::Folder;

/// Kinds of items; the last is never labelled.
pub(crate) const KINDS: [&str; 4] = ["dent", "scratch", "stain|odd", "fine"];

/// Where the kinds lie in the first two columns.
const CENTRES: [[f64; 2]; 4] = [[2.5, 0.0], [0.0, 2.5], [-2.0, -2.0], [0.0, 0.0]];

/// A row of numbers that look random and are the same every time.
struct Draw(u64);

impl Draw {
    fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number from 0 to 1.
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// About normal: mean 0, deviation 1.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

/// One item: its cells besides the label, with gaps here and there.
fn cells(draw: &mut Draw, kind: usize) -> String {
    let [x, y] = CENTRES[kind];
    let weight = 50.0 + 10.0 * (x + 0.8 * draw.normal());
    let length = y + 0.8 * draw.normal();
    let colours = ["red", "blue", "green"];
    let own = draw.uniform() < 0.6;
    let colour = if own {
        kind % 3
    } else {
        (draw.uniform() * 3.0) as usize
    };
    let length = if draw.uniform() < 0.05 {
        String::new()
    } else {
        format!("{length:.4}")
    };
    let colour = if draw.uniform() < 0.05 {
        ""
    } else {
        colours[colour.min(2)]
    };
    format!("{weight:.3},{length},{colour}")
}

/// A table: labelled rows first, then the pool. `label` says what stands in the label column, if there is one.
fn table(
    rows: &[usize],
    seed: u64,
    label: Option<&dyn Fn(usize, usize) -> &'static str>,
) -> String {
    let mut draw = Draw::new(seed);
    let mut text = "item,weight,length,colour".to_owned();
    text += if label.is_some() { ",kind\n" } else { "\n" };
    for (row, &kind) in rows.iter().enumerate() {
        let cells = cells(&mut draw, kind);
        let _ = write!(text, "item-{row},{cells}");
        if let Some(label) = label {
            let _ = write!(text, ",{}", label(row, kind));
        }
        text.push('\n');
    }
    text
}

/// Kinds of so many rows of a pool in which half are of no labelled kind.
fn pool(n: usize) -> Vec<usize> {
    (0..n).map(|row| [0, 3, 1, 3, 2, 3][row % 6]).collect()
}

/// `items.csv` to train on, `checked.csv` with true labels, `marked.csv` with some, `new.csv` with none, and `run`.
pub(crate) fn items() -> &'static Folder {
    static ITEMS: OnceLock<Folder> = OnceLock::new();
    ITEMS.get_or_init(|| {
        let folder = Folder::shared("evaluated-items");
        let partly = |n_labeled: usize, n_pool: usize, seed: u64| {
            let rows: Vec<usize> = (0..n_labeled)
                .map(|row| row % 3)
                .chain(pool(n_pool))
                .collect();
            let label =
                move |row: usize, kind: usize| if row < n_labeled { KINDS[kind] } else { "" };
            table(&rows, seed, Some(&label))
        };
        folder.write("items.csv", partly(150, 360, 1));
        // Two names of kinds that are not looked for.
        let truth = |row: usize, kind: usize| match kind {
            3 if row % 4 == 1 => "new kind",
            _ => KINDS[kind],
        };
        folder.write("checked.csv", table(&pool(240), 2, Some(&truth)));
        folder.write("marked.csv", partly(60, 120, 3));
        folder.write("new.csv", table(&pool(120), 4, None));
        train(&folder, "run", "");
        folder
    })
}

/// Trains a small model on `items.csv` with known priors.
pub(crate) fn train(items: &Folder, name: &str, extra: &str) {
    items.told(&format!(
        "train --data items.csv --label-column kind --id-column item \
         --priors dent=0.1667,scratch=0.1667,stain|odd=0.1667 --epochs 12 --batch-size 32 \
         --set model={{kind=\"mlp\",hidden=[24,24]}} --threads 1 --out {name} {extra}"
    ));
}

/// The same folder with `benchmark`: a small run on a benchmark without held-out rows.
pub(crate) fn with_benchmark() -> &'static Folder {
    static TRAINED: OnceLock<String> = OnceLock::new();
    let items = items();
    TRAINED.get_or_init(|| {
        items.told(
            "train --offline --epochs 2 --set data.generated-rows=600 \
             --set model={kind=\"mlp\",hidden=[16]} --threads 1 --out benchmark",
        )
    });
    items
}
