//! A small table of items made by code, and runs trained on it, for the tests of what follows training.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::support::{mpu_cli, stderr, stdout};

/// Kinds of items; the last is never labelled.
pub(crate) const KINDS: [&str; 4] = ["dent", "scratch", "stain|odd", "fine"];

/// Where the kinds lie in the first two columns.
const CENTRES: [[f64; 2]; 4] = [[2.5, 0.0], [0.0, 2.5], [-2.0, -2.0], [0.0, 0.0]];

/// A row of numbers that look random and are the same every time.
pub(crate) struct Draw(u64);

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number from 0 to 1.
    pub(crate) fn uniform(&mut self) -> f64 {
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

/// Writes a table: labelled rows first, then the pool. `label` says what stands in the label column.
fn write(
    path: &Path,
    rows: &[usize],
    seed: u64,
    header: &str,
    label: impl Fn(usize, usize) -> Option<String>,
) {
    let mut draw = Draw::new(seed);
    let mut text = format!("{header}\n");
    for (row, &kind) in rows.iter().enumerate() {
        let cells = cells(&mut draw, kind);
        let _ = write!(text, "item-{row},{cells}");
        if let Some(label) = label(row, kind) {
            let _ = write!(text, ",{label}");
        }
        text.push('\n');
    }
    std::fs::write(path, text).unwrap();
}

/// Kinds of so many rows of a pool in which half are of no labelled kind.
fn pool(n: usize) -> Vec<usize> {
    (0..n).map(|row| [0, 3, 1, 3, 2, 3][row % 6]).collect()
}

/// Files and runs that the tests share.
pub(crate) struct Items {
    folder: PathBuf,
}

impl Items {
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }
}

/// `items.csv` to train on, `checked.csv` with true labels, `marked.csv` with some, `new.csv` with none, and `run`.
pub(crate) fn items() -> &'static Items {
    static ITEMS: OnceLock<Items> = OnceLock::new();
    ITEMS.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("evaluated-items");
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let items = Items { folder };
        let header = "item,weight,length,colour,kind";
        let labeled: Vec<usize> = (0..150).map(|row| row % 3).chain(pool(360)).collect();
        let partly = |n_labeled: usize| {
            move |row: usize, kind: usize| {
                let label = if row < n_labeled { KINDS[kind] } else { "" };
                Some(label.to_owned())
            }
        };
        write(&items.path("items.csv"), &labeled, 1, header, partly(150));
        write(
            &items.path("checked.csv"),
            &pool(240),
            2,
            header,
            |row, kind| {
                // Two names of kinds that are not looked for.
                let name = if kind == 3 && row % 4 == 1 {
                    "new kind"
                } else {
                    KINDS[kind]
                };
                Some(name.to_owned())
            },
        );
        let labeled: Vec<usize> = (0..60).map(|row| row % 3).chain(pool(120)).collect();
        write(&items.path("marked.csv"), &labeled, 3, header, partly(60));
        let bare = "item,weight,length,colour";
        write(&items.path("new.csv"), &pool(120), 4, bare, |_, _| None);
        train(&items, "run", &[]);
        items
    })
}

/// Trains a small model on `items.csv` with known priors.
pub(crate) fn train(items: &Items, name: &str, extra: &[&str]) {
    let (data, out) = (items.text("items.csv"), items.text(name));
    let mut args = vec![
        "train",
        "--data",
        &data,
        "--label-column",
        "kind",
        "--id-column",
        "item",
        "--priors",
        "dent=0.1667,scratch=0.1667,stain|odd=0.1667",
        "--epochs",
        "12",
        "--batch-size",
        "32",
        "--set",
        "model={kind=\"mlp\", hidden=[24, 24]}",
        "--threads",
        "1",
        "--out",
        &out,
    ];
    args.extend_from_slice(extra);
    let output = mpu_cli(&args);
    assert!(output.status.success(), "{}", stderr(&output));
}

/// A small run on a benchmark without held-out rows.
pub(crate) fn benchmark() -> &'static Path {
    static RUN: OnceLock<PathBuf> = OnceLock::new();
    RUN.get_or_init(|| {
        let out = items().path("benchmark");
        let output = mpu_cli(&[
            "train",
            "--offline",
            "--epochs",
            "2",
            "--set",
            "data.generated-rows=600",
            "--set",
            "model={kind=\"mlp\", hidden=[16]}",
            "--threads",
            "1",
            "--out",
            &out.display().to_string(),
        ]);
        assert!(output.status.success(), "{}", stderr(&output));
        out
    })
}

/// What the program prints, if it ends well.
pub(crate) fn told(args: &[&str]) -> String {
    let output = mpu_cli(args);
    assert!(output.status.success(), "{args:?}: {}", stderr(&output));
    stdout(&output)
}

/// The same as JSON.
pub(crate) fn json(args: &[&str]) -> serde_json::Value {
    serde_json::from_str(&told(args)).unwrap()
}

/// What the program complains about.
pub(crate) fn complaint(args: &[&str]) -> String {
    let output = mpu_cli(args);
    assert_eq!(
        output.status.code(),
        Some(2),
        "{args:?}: {}",
        stderr(&output)
    );
    stderr(&output)
}
