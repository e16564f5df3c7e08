//! Commands on the real benchmark files, with TensorBoard, and on a full disk.

use std::process::{Command, Stdio};

use libtest_mimic::Trial;
use mpu_data::source::DatasetId;

use crate::items::told;
use crate::need::{Need, data_dir, python};
use crate::support::{mpu_cli, stderr, stdout};

pub(crate) fn tests() -> Vec<Trial> {
    vec![
        Need::Data.test(
            "commands::the_real_files_are_as_published_but_for_the_marked_subset",
            the_real_files_are_as_published_but_for_the_marked_subset,
        ),
        Need::Dataset(DatasetId::Mnist).test(
            "commands::the_split_of_mnist_is_what_the_formula_says",
            the_split_of_mnist_is_what_the_formula_says,
        ),
        Need::Data.test(
            "commands::wrong_priors_follow_from_the_runs_with_the_true_ones",
            wrong_priors_follow_from_the_runs_with_the_true_ones,
        ),
        Need::Tensorboard.test(
            "commands::tensorboard_reads_the_event_file_back",
            tensorboard_reads_the_event_file_back,
        ),
        Need::Mount.test(
            "commands::a_full_disk_is_told_and_leaves_nothing_half_written",
            a_full_disk_is_told_and_leaves_nothing_half_written,
        ),
    ]
}

fn the_real_files_are_as_published_but_for_the_marked_subset() {
    let dir = data_dir().unwrap().display().to_string();
    let output = mpu_cli(&["data", "verify", "--offline", "--data-dir", &dir]);
    assert!(output.status.success(), "{}", stdout(&output));
    let text = stdout(&output);
    for name in [
        "mnist",
        "fashion-mnist",
        "kmnist",
        "usps",
        "semeion",
        "pendigits",
        "waveform1",
    ] {
        assert!(text.contains(&format!("{name}: as published")), "{text}");
    }
    assert!(text.contains("svhn: usable, with a mark"), "{text}");
    assert!(
        text.contains("subset: the train part has 14000 of 73257 rows"),
        "{text}"
    );
}

fn the_split_of_mnist_is_what_the_formula_says() {
    let dir = data_dir().unwrap().display().to_string();
    let args = [
        "split",
        "--dataset",
        "mnist",
        "--classes",
        "4",
        "--prior",
        "0.5",
        "--protocol",
        "first-k",
        "--seed",
        "1",
        "--format",
        "json",
        "--data-dir",
        &dir,
    ];
    let json: serde_json::Value = serde_json::from_str(&stdout(&mpu_cli(&args))).unwrap();
    // 6131 negatives; of each observed class floor(6131 · (1/0.5 - 1) / 3) = 2043 rows.
    assert_eq!(
        json["pool_by_hidden_class"],
        serde_json::json!([2043, 2043, 2043, 6131])
    );
    assert_eq!(
        json["labeled"],
        serde_json::json!([5923 - 2043, 6742 - 2043, 5958 - 2043])
    );
    assert_eq!(json["test"], serde_json::json!([980, 1135, 1032, 1010]));
    let again: serde_json::Value = serde_json::from_str(&stdout(&mpu_cli(&args))).unwrap();
    assert_eq!(json["digest"], again["digest"]);
}

/// The second step of figure 3 needs the first: runs with the true priors, then with wrong ones.
fn wrong_priors_follow_from_the_runs_with_the_true_ones() {
    let dir = tempfile::tempdir().unwrap();
    let reproduce = |extra: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_mpu-cli"))
            .args(["reproduce", "figures", "--only", "figure3", "--quick"])
            .args(["--out", "q", "--offline"])
            .args(extra)
            .current_dir(dir.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output)
    };
    let text = reproduce(&[]);
    // Three numbers of classes, two schemes, five sizes.
    assert!(
        text.contains("33 needed, 0 were there, 33 trained"),
        "{text}"
    );
    let svg = std::fs::read_to_string(dir.path().join("q/figures/figure3.svg")).unwrap();
    assert!(
        svg.contains("scalar-last") && svg.contains("adversarial"),
        "{svg}"
    );
    assert!(svg.contains("1 seed, 2 epochs"), "{svg}");
    // A report draws what is stored, whatever was asked for when it was made.
    reproduce(&["--report-only", "--epochs", "7", "--seeds", "3"]);
    let redrawn = std::fs::read_to_string(dir.path().join("q/figures/figure3.svg")).unwrap();
    assert_eq!(redrawn, svg);
}

fn tensorboard_reads_the_event_file_back() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("run").display().to_string();
    told(&[
        "train",
        "--offline",
        "--set",
        "data.generated-rows=600",
        "--set",
        "model={kind=\"mlp\", hidden=[32, 32]}",
        "--epochs",
        "3",
        "--tensorboard",
        "--out",
        &folder,
    ]);
    let script = "import sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(sys.argv[1]); events.Reload()
print(len(events.Scalars('test_accuracy')), events.Scalars('loss')[-1].step)";
    let mut command = Command::new(python());
    let read = command.args(["-c", script, &folder]).output().unwrap();
    assert!(read.status.success(), "{}", stderr(&read));
    assert_eq!(stdout(&read).trim(), "3 3");
}

/// A file system of 300 kB, where the system lets us have one.
pub(crate) struct Tiny(tempfile::TempDir);

impl Tiny {
    pub(crate) fn mount() -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=300k", "tmpfs"]);
        let mounted = mount.arg(dir.path()).stderr(Stdio::null()).status();
        mounted
            .is_ok_and(|status| status.success())
            .then(|| Self(dir))
    }
}

impl Drop for Tiny {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

fn a_full_disk_is_told_and_leaves_nothing_half_written() {
    let tiny = Tiny::mount().unwrap();
    let out = tiny.0.path().join("run");
    // A checkpoint of the default network does not fit.
    let output = mpu_cli(&[
        "train",
        "--offline",
        "--epochs",
        "1",
        "--set",
        "data.generated-rows=300",
        "--out",
        out.to_str().unwrap(),
    ]);
    assert_eq!(output.status.code(), Some(2));
    let message = stderr(&output);
    assert!(
        message.contains("checkpoint.safetensors") && message.contains("No space left"),
        "{message}"
    );
    let files: Vec<String> = std::fs::read_dir(&out)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(files, ["config.toml"]);
}
