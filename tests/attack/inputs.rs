//! Damaged files of every kind that is read: an answer or a message, never a crash, a hang, or too much memory.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::OnceLock;

use crate::damage::damaged;
use crate::family::Draw;
use crate::program::{Ended, bounded, done, start};
use crate::subjects::{copy, items, prepare};

const TABLE: &str = "--label-column kind --id-column id";

/// Which file is damaged, and who reads it. `{}` stands for its name.
const READERS: &str = "\
items.csv: check --data {} TABLE
items.csv: check --data {} TABLE --decimal-comma --missing keep
items.csv: check --data {}
items.csv: prior --data {} TABLE --replicates 5
items.csv: train --data {} TABLE --epochs 6 --set model.kind=mlp --set model.hidden=[4] --out run
items.csv: predict --model model --data {} --ignore-extra --any-order --out -
items.csv: evaluate --model model --data {}
items.tsv: check --data {} TABLE
items.csv.gz: check --data {} TABLE
items.libsvm: check --data {}
X.npy: check --data {} --labels y.npy
y.npy: check --data X.npy --labels {}
scored.parquet: check --data {} --label-column answer --unlabeled-marker unknown
images/dent/1.png: check --data images
images/dent/1.png: check --data images --image-size 3x3
ids.txt: check --data items.csv --exclude kind --positives {} --key id
costs.csv: predict --model model --data items.csv --ignore-extra --out - --cost-matrix {}
margins.csv: prior --scores {} --replicates 5
sweep.toml: show {}
sweep.toml: plan {}
model/config.toml: predict --model model --data items.csv --ignore-extra --out -
model/config.toml: evaluate --model model
model/model.json: predict --model model --data items.csv --ignore-extra --out - --explain 2
model/model.json: evaluate --model model
model/model.json: report model --out report.html
model/model.json: export model --onnx out.onnx
model/forest.safetensors: predict --model model --data items.csv --ignore-extra --out -
model/forest.safetensors: export model --onnx out.onnx
net/model.safetensors: predict --model net --data items.csv --ignore-extra --out -
net/model.json: predict --model net --data items.csv --ignore-extra --out -
net/checkpoint.safetensors: train --resume begun --offline
model/background.json: predict --model model --data items.csv --ignore-extra --out - --explain 2
model/held-out.csv: evaluate --model model
model/metrics.csv: report model --out report.html
model/record.json: report model --out report.html
data/mnist/train-images-idx3-ubyte.gz: data verify mnist --offline --data-dir data";

fn readers() -> Vec<(&'static str, &'static str)> {
    let pair = |line: &'static str| line.split_once(": ").unwrap();
    READERS.lines().map(pair).collect()
}

pub(crate) fn attack(draw: &mut Draw, folder: &Path) -> Result<(), String> {
    ground(folder);
    let readers = readers();
    let (name, line) = *draw.of(&readers);
    let others: Vec<&str> = readers.iter().map(|(name, _)| *name).collect();
    let other = fs::read(folder.join(draw.of(&others))).unwrap();
    let good = fs::read(folder.join(name)).unwrap();
    fs::write(folder.join(name), damaged(draw, &good, &other)).unwrap();
    if line.contains("begun") {
        begin(folder);
    }
    let line = line.replace("{}", name).replace("TABLE", TABLE);
    let ended = start(bounded(folder, &line)).end();
    let ended = ended.and_then(Ended::orderly);
    let ended = ended.map_err(|told| {
        let kept = keep(&fs::read(folder.join(name)).unwrap_or_default());
        format!("`{line}` of {name} (kept as {kept}): {told}")
    })?;
    // What goes wrong is told.
    let told = ended.told.contains("error: ") || ended.told.contains("FAILED: ");
    if ended.good() || told {
        return Ok(());
    }
    Err(format!(
        "`{line}` of {name}: {}: {}",
        ended.status, ended.told
    ))
}

/// Keeps a file that did harm, to look at.
fn keep(bytes: &[u8]) -> String {
    let (_, path) = tempfile::NamedTempFile::with_prefix_in("harm-", env!("CARGO_TARGET_TMPDIR"))
        .unwrap()
        .keep()
        .unwrap();
    fs::write(&path, bytes).unwrap();
    path.display().to_string()
}

/// A run that was stopped, with the checkpoint of `net`.
fn begin(folder: &Path) {
    fs::create_dir(folder.join("begun")).unwrap();
    for name in ["config.toml", "checkpoint.safetensors"] {
        fs::copy(
            folder.join("net").join(name),
            folder.join("begun").join(name),
        )
        .unwrap();
    }
}

/// Puts good files of every kind into a folder.
fn ground(folder: &Path) {
    static MADE: OnceLock<tempfile::TempDir> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        let made = tempfile::tempdir().unwrap();
        let root = made.path();
        prepare(root);
        let text = items();
        let write = |name: &str, bytes: &[u8]| {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        };
        write("items.tsv", text.replace(',', "\t").as_bytes());
        write("items.csv.gz", &gzip(text.as_bytes()));
        let number = |i: usize| (i * 37 % 101) as f32 / 10.0;
        let label = |i: usize| if i < 40 { i % 3 } else { 0 };
        let sparse = (0..80).map(|i| format!("{} 1:{} {}:1\n", label(i), number(i), 2 + i % 3));
        write("items.libsvm", sparse.collect::<String>().as_bytes());
        let floats: Vec<u8> = (0..160).flat_map(|i| number(i).to_le_bytes()).collect();
        write("X.npy", &npy("<f4", "(80, 2)", &floats));
        let labels: Vec<u8> = (0..80).map(|i| label(i) as u8).collect();
        write("y.npy", &npy("|u1", "(80,)", &labels));
        for (class, shade, n) in [("dent", 200, 3), ("rust", 90, 3), ("unlabeled", 10, 6)] {
            for i in 0..n {
                write(&format!("images/{class}/{i}.png"), &png(shade + i));
            }
        }
        let ids: Vec<String> = (0..20).map(|i| format!("r{}", 3 * i)).collect();
        write("ids.txt", ids.join("\n").as_bytes());
        write("costs.csv", b",dent,scratch,unknown\ndent,0,1,2\nscratch,3,0,1\nunknown,1,1,0\n");
        // Two images of two by two pixels, and their labels.
        let images = [&[0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 2][..], &[7; 8]].concat();
        let labels = [0, 0, 8, 1, 0, 0, 0, 2, 3, 4];
        for part in ["train", "t10k"] {
            let name = |what: &str| format!("data/mnist/{part}-{what}-ubyte.gz");
            write(&name("images-idx3"), &gzip(&images));
            write(&name("labels-idx1"), &gzip(&labels));
        }
        let net = "train --offline --set data.generated-rows=300 --set model.kind=mlp --set model.hidden=[4] --epochs 2 \
                   --set train.checkpoint-every=1 --out net";
        for line in [
            "predict --model model --data items.csv --ignore-extra --out scored.parquet",
            "prior --data items.csv --label-column kind --id-column id --replicates 5 --write-scores margins.csv",
            net,
        ] {
            done(root, line).unwrap();
        }
        made
    });
    copy(made.path(), folder);
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// An array of format version 1.
fn npy(kind: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let mut header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}");
    while !(10 + header.len() + 1).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

/// A grey picture of four by four pixels.
fn png(shade: u8) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, 4, 4);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().unwrap();
    let pixels: Vec<u8> = (0..16).map(|i| shade.wrapping_add(i)).collect();
    writer.write_image_data(&pixels).unwrap();
    writer.finish().unwrap();
    bytes
}
