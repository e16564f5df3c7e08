//! `mpu-cli plan|run|status|collect|submit|pack`: many runs, killed, shared and failed.

use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::evaluate::items::items;
use crate::support::{
    Folder, contains_all, ends_in, signal, stderr, stdout, sweep, table, without_time,
};

/// A folder with a sweep.
fn with_sweep(seeds: usize, epochs: usize) -> Folder {
    let folder = Folder::new();
    sweep(&folder, seeds, epochs);
    folder
}

fn run(folder: &Folder, rest: &str) -> Value {
    folder.json(&format!("run sweep.toml --offline --out {rest}"))
}

fn start(folder: &Folder, out: &str) -> Child {
    let line = format!("run sweep.toml --offline --jobs 2 --out {out}");
    let mut command = folder.command(&line);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

fn n_records(folder: &Folder) -> usize {
    let names = folder.names("store/records");
    names.iter().filter(|name| ends_in(name, "json")).count()
}

#[test]
fn a_sweep_is_planned_made_once_and_tabulated() {
    let folder = with_sweep(2, 2);
    let plan = folder.json("plan sweep.toml");
    assert_eq!(plan.as_array().unwrap().len(), 8);

    assert_eq!(run(&folder, "store")["trained"], 8);
    assert_eq!(run(&folder, "store")["trained"], 0);

    let text = table(&folder, "store");
    assert_eq!(text.lines().count(), 1 + 4, "{text}");
    contains_all(&text, &["csmpu-abs", "π=0.2"]);
    let status = folder.json("status sweep.toml --out store");
    assert_eq!(status["done"], 8);

    // Packed, the same table comes out, and nothing is left to be made.
    folder.told("pack --out store");
    assert_eq!(n_records(&folder), 0);
    assert_eq!(table(&folder, "store"), text);
    assert_eq!(run(&folder, "store")["trained"], 0);
    folder.refuses("pack --out stroe", &["no store in stroe", "hint:"]);
    assert!(!folder.path("stroe").exists());
}

#[test]
fn train_and_run_leave_the_same_record_and_row() {
    let folder = Folder::new();
    // One plain run, and one that chooses its rate, keeps an earlier epoch and estimates its priors.
    let plain = "seed = 1\n[data]\ngenerated-rows = 300\n[model]\nkind = \"mlp\"\nhidden = [16]\n[train]\nepochs = 3\nbatch-size = 64\n";
    let chosen = "seed = 2\n[data]\ngenerated-rows = 600\nvalidation-share = 0.2\npriors = \"auto\"\n[model]\nkind = \"mlp\"\nhidden = [16]\n[train]\nepochs = 6\nbatch-size = 64\nkeep = \"best-risk\"\n[sweep]\nlrs = [0.001, 0.01]\n";
    for (name, text) in [("plain", plain), ("chosen", chosen)] {
        folder.write("sweep.toml", text);
        let store = format!("{name}-store");
        folder.told(&format!(
            "train sweep.toml --offline --threads 2 --out {name}"
        ));
        run(&folder, &store);

        let records = format!("{store}/records");
        let stored = folder.names(&records).remove(0);
        let stored = folder.read_json(&format!("{records}/{stored}"));
        let record = folder.read_json(&format!("{name}/record.json"));
        let record = without_time(record);
        assert_eq!(record, without_time(stored), "{name}");
        assert_eq!(record["model-sha256"].as_str().unwrap().len(), 64);
        assert_eq!(record["rates"].is_array(), name == "chosen");
        assert_eq!(record["told-priors"].is_array(), name == "chosen");

        let by_sweep = table(&folder, &store);
        // A run that is named twice counts once.
        let both = format!("sweep.toml --out {store} {name}");
        for source in [name, &store, &both] {
            let found = folder.run(&format!("collect {source} --format csv"));
            assert_eq!(stdout(&found), by_sweep, "{}", stderr(&found));
        }
    }
    // A table of one's own without test rows has a record, but nothing to average.
    let text = items().told("collect run --format csv");
    assert!(
        text.contains("items k=4 π=0.4999 csmpu-st") && text.ends_with("1,–,–\n"),
        "{text}"
    );
    folder.refuses("collect .", &["neither"]);
}

#[test]
fn killed_ten_times_it_ends_with_the_same_table() {
    let folder = with_sweep(6, 6);
    run(&folder, "calm --jobs 1");
    // Pauses without a pattern, but the same in every test.
    let mut state = 7u64;
    for _ in 0..10 {
        let mut child = start(&folder, "killed");
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        std::thread::sleep(Duration::from_millis(20 + (state >> 33) % 400));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    run(&folder, "killed");
    assert_eq!(table(&folder, "killed"), table(&folder, "calm"));
}

#[test]
fn two_runners_share_a_folder() {
    let folder = with_sweep(6, 4);
    let trained = || run(&folder, "store --jobs 1")["trained"].as_u64().unwrap();
    let both = std::thread::scope(|scope| {
        let other = scope.spawn(trained);
        trained() + other.join().unwrap()
    });
    assert_eq!(both, 24);
    assert_eq!(n_records(&folder), 24);
}

#[test]
fn parts_add_up_and_the_environment_names_them() {
    let folder = with_sweep(1, 1);
    run(&folder, "store --shard 1/3");
    assert_eq!(n_records(&folder), 2);
    let part = "run sweep.toml --offline --shards 3 --out store";
    for (name, index) in [("SLURM_ARRAY_TASK_ID", "1"), ("JOB_COMPLETION_INDEX", "2")] {
        let mut command = folder.command(part);
        let output = command.env(name, index).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
    }
    assert_eq!(n_records(&folder), 4);
    folder.refuses(part, &["--shard 1/3"]);
}

#[test]
fn a_failed_run_is_kept_and_stops_nothing() {
    let folder = Folder::new();
    // One of the two datasets is not here.
    let text = "seed = 1\n[data]\ndataset = [\"usps\", \"waveform1\"]\ngenerated-rows = 300\n[train]\nepochs = 1\n";
    folder.write("sweep.toml", text);
    let run = |extra: &str| {
        let line = format!("run sweep.toml --offline --format json --out store {extra}");
        let output = folder.bare(&line).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        let tally: Value = serde_json::from_str(&stdout(&output)).unwrap();
        [&tally["trained"], &tally["failed"]].map(|n| n.as_u64().unwrap())
    };
    assert_eq!(run(""), [1, 1]);
    let status = stdout(&folder.run("status sweep.toml --out store"));
    assert!(status.contains("failed: usps"), "{status}");
    assert_eq!(run("--retry-failed"), [0, 1]);
}

/// Ctrl-C, and what Slurm sends before the time is up.
#[test]
fn a_signal_keeps_the_state_of_the_runs_in_hand() {
    for name in ["-INT", "-TERM"] {
        let folder = with_sweep(1, 30_000);
        let mut child = start(&folder, "store");
        std::thread::sleep(Duration::from_millis(700));
        signal(&child, name);
        assert_eq!(child.wait().unwrap().code(), Some(130), "{name}");
        let kept = folder.names("store/work");
        assert_eq!(kept.len(), 2, "{name}: one state for each of two jobs");
        assert_eq!(n_records(&folder), 0, "{name}");
    }
}

#[test]
fn the_slurm_script_is_shown() {
    let folder = with_sweep(2, 1);
    let text = folder.told(
        "submit sweep.toml --out store --print --partition short --account lab --time 00:30:00",
    );
    let lines = [
        "#SBATCH --array=0-0",
        "#SBATCH --partition=short",
        "#SBATCH --account=lab",
        "#SBATCH --time=00:30:00",
        "#SBATCH --signal=B:TERM@120",
    ];
    contains_all(&text, &lines);
    let plan = folder.path("store/slurm/plan.jsonl");
    assert!(!plan.exists(), "nothing is written");
}
