//! Commands on the real benchmark files, with TensorBoard, and on a full disk.

use std::process::{Command, Stdio};

use libtest_mimic::Trial;
use mpu_data::source::DatasetId;

use crate::need::{Need, data_dir, python};
use crate::support::{Folder, complaint, contains_all, stderr, stdout};

pub(crate) fn tests() -> Vec<Trial> {
    trials! {
        Need::Data => the_real_files_are_as_published_but_for_the_marked_subset,
        Need::Dataset(DatasetId::Mnist) => the_split_of_mnist_is_what_the_formula_says,
        Need::Data => wrong_priors_follow_from_the_runs_with_the_true_ones,
        Need::Tensorboard => tensorboard_reads_the_event_file_back,
        Need::Mount => a_full_disk_is_told_and_leaves_nothing_half_written,
    }
}

fn the_real_files_are_as_published_but_for_the_marked_subset() {
    let folder = Folder::new();
    let mut verify = folder.command("data verify --offline --data-dir");
    let output = verify.arg(data_dir().unwrap()).output().unwrap();
    let text = stdout(&output);
    assert!(output.status.success(), "{text}");
    for name in DatasetId::PAPER
        .into_iter()
        .filter(|&id| id != DatasetId::Svhn)
    {
        assert!(text.contains(&format!("{name}: as published")), "{text}");
    }
    let subset = "subset: the train part has 14000 of 73257 rows";
    contains_all(&text, &["svhn: usable, with a mark", subset]);
}

fn the_split_of_mnist_is_what_the_formula_says() {
    let folder = Folder::new();
    let split = || -> serde_json::Value {
        let mut command = folder.command(
            "split --dataset mnist --classes 4 --prior 0.5 --protocol first-k --seed 1 --format json --data-dir",
        );
        let output = command.arg(data_dir().unwrap()).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let json = split();
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
    assert_eq!(json["digest"], split()["digest"]);
}

/// The second step of figure 3 needs the first: runs with the true priors, then with wrong ones.
fn wrong_priors_follow_from_the_runs_with_the_true_ones() {
    let folder = Folder::new();
    let reproduce = |extra: &str| {
        let only = "figures --only figure3 --quick --out q --offline";
        folder.told(&format!("reproduce {only} {extra}"))
    };
    let text = reproduce("");
    // Three numbers of classes, two schemes, five sizes.
    assert!(
        text.contains("33 needed, 0 were there, 33 trained"),
        "{text}"
    );
    let svg = folder.read("q/figures/figure3.svg");
    contains_all(&svg, &["scalar-last", "adversarial", "1 seed, 2 epochs"]);
    // A report draws what is stored, whatever was asked for when it was made.
    reproduce("--report-only --epochs 7 --seeds 3");
    assert_eq!(folder.read("q/figures/figure3.svg"), svg);
}

fn tensorboard_reads_the_event_file_back() {
    let folder = Folder::new();
    folder.told(
        "train --offline --set data.generated-rows=600 --set model={kind=\"mlp\",hidden=[32,32]} \
         --epochs 3 --tensorboard --out run",
    );
    let script = "import sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(sys.argv[1]); events.Reload()
print(len(events.Scalars('test_accuracy')), events.Scalars('loss')[-1].step)";
    let mut command = Command::new(python());
    command.args(["-c", script]).arg(folder.path("run"));
    let read = command.output().unwrap();
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
    let train = "train --offline --epochs 1 --set data.generated-rows=300 --out";
    let folder = Folder::new();
    let output = folder.command(train).arg(&out).output().unwrap();
    let message = complaint(&output, "a full disk");
    contains_all(&message, &["checkpoint.safetensors", "No space left"]);
    let files: Vec<String> = std::fs::read_dir(&out)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(files, ["config.toml"]);
}
