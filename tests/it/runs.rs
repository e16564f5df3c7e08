//! `mpu-cli plan|run|status|collect|submit|pack`: many runs, killed, shared and failed.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::evaluate::items::items;
use crate::support::{mpu_cli, on, stderr, stdout, sweep, table};

fn start(sweep: &Path, out: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_mpu-cli"))
        .arg("run")
        .arg(sweep)
        .args(["--offline", "--jobs", "2", "--out"])
        .arg(out)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn n_records(out: &Path) -> usize {
    let folder = std::fs::read_dir(out.join("records"));
    folder.map_or(0, |entries| {
        let names = entries.map(|entry| entry.unwrap().file_name());
        names
            .filter(|name| name.to_string_lossy().ends_with(".json"))
            .count()
    })
}

#[test]
fn a_sweep_is_planned_made_once_and_tabulated() {
    let dir = tempfile::tempdir().unwrap();
    let (sweep, out) = (sweep(dir.path(), 2, 2), dir.path().join("store"));
    let plan = mpu_cli(&["plan", sweep.to_str().unwrap(), "--format", "json"]);
    let plan: serde_json::Value = serde_json::from_str(&stdout(&plan)).unwrap();
    assert_eq!(plan.as_array().unwrap().len(), 8);

    let output = on("run", &sweep, &out, &["--offline", "--format", "json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let tally: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(tally["trained"], 8);
    let again = on("run", &sweep, &out, &["--offline", "--format", "json"]);
    let tally: serde_json::Value = serde_json::from_str(&stdout(&again)).unwrap();
    assert_eq!(tally["trained"], 0);

    let text = table(&sweep, &out);
    assert_eq!(text.lines().count(), 1 + 4, "{text}");
    assert!(
        text.contains("csmpu-abs") && text.contains("π=0.2"),
        "{text}"
    );
    let status = stdout(&on("status", &sweep, &out, &["--format", "json"]));
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    assert_eq!(status["done"], 8);

    // Packed, the same table comes out, and nothing is left to be made.
    let packed = mpu_cli(&["pack", "--out", out.to_str().unwrap()]);
    assert!(packed.status.success(), "{}", stderr(&packed));
    assert_eq!(n_records(&out), 0);
    assert_eq!(table(&sweep, &out), text);
    let again = on("run", &sweep, &out, &["--offline", "--format", "json"]);
    let tally: serde_json::Value = serde_json::from_str(&stdout(&again)).unwrap();
    assert_eq!(tally["trained"], 0);
}

#[test]
fn train_and_run_leave_the_same_record_and_row() {
    let dir = tempfile::tempdir().unwrap();
    let place = |name: &str| dir.path().join(name);
    // One plain run, and one that chooses its rate, keeps an earlier epoch and estimates its priors.
    let plain = "seed = 1\n[data]\ngenerated-rows = 300\n[model]\nkind = \"mlp\"\nhidden = [16]\n[train]\nepochs = 3\nbatch-size = 64\n";
    let chosen = "seed = 2\n[data]\ngenerated-rows = 600\nvalidation-share = 0.2\npriors = \"auto\"\n[model]\nkind = \"mlp\"\nhidden = [16]\n[train]\nepochs = 6\nbatch-size = 64\nkeep = \"best-risk\"\n[sweep]\nlrs = [0.001, 0.01]\n";
    for (name, text) in [("plain", plain), ("chosen", chosen)] {
        let (config, store) = (
            place(&format!("{name}.toml")),
            place(&format!("{name}-store")),
        );
        let folder = place(name);
        std::fs::write(&config, text).unwrap();
        let (config, out) = (config.to_str().unwrap(), folder.to_str().unwrap());
        let trained = mpu_cli(&["train", config, "--offline", "--threads", "2", "--out", out]);
        assert!(trained.status.success(), "{}", stderr(&trained));
        let run = on("run", Path::new(config), &store, &["--offline"]);
        assert!(run.status.success(), "{}", stderr(&run));

        let stored = std::fs::read_dir(store.join("records")).unwrap().next();
        let read = |path: &Path| {
            let bytes = std::fs::read(path).unwrap();
            let mut record: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
            let fields = record.as_object_mut().unwrap();
            for place in ["seconds", "threads"] {
                assert!(fields.remove(place).is_some(), "{place}");
            }
            record
        };
        let record = read(&folder.join("record.json"));
        assert_eq!(record, read(&stored.unwrap().unwrap().path()), "{name}");
        assert_eq!(record["model-sha256"].as_str().unwrap().len(), 64);
        assert_eq!(record["rates"].is_array(), name == "chosen");
        assert_eq!(record["told-priors"].is_array(), name == "chosen");

        let by_sweep = table(Path::new(config), &store);
        for source in [out, store.to_str().unwrap()] {
            let found = mpu_cli(&["collect", source, "--format", "csv"]);
            assert_eq!(stdout(&found), by_sweep, "{}", stderr(&found));
        }
        // A run that is named twice counts once.
        let both = on(
            "collect",
            Path::new(config),
            &store,
            &["--format", "csv", out],
        );
        assert_eq!(stdout(&both), by_sweep, "{}", stderr(&both));
    }
    // A table of one's own without test rows has a record, but nothing to average.
    let own = items().text("run");
    let found = mpu_cli(&["collect", &own, "--format", "csv"]);
    let text = stdout(&found);
    assert!(
        text.contains("items k=4 π=0.4999 csmpu-st") && text.ends_with("1,–,–\n"),
        "{text}"
    );
    let nothing = mpu_cli(&["collect", dir.path().to_str().unwrap()]);
    assert_eq!(nothing.status.code(), Some(2));
    assert!(stderr(&nothing).contains("neither"), "{}", stderr(&nothing));
}

#[test]
fn killed_ten_times_it_ends_with_the_same_table() {
    let dir = tempfile::tempdir().unwrap();
    let sweep = sweep(dir.path(), 6, 6);
    let (calm, killed) = (dir.path().join("calm"), dir.path().join("killed"));
    let output = on("run", &sweep, &calm, &["--offline", "--jobs", "1"]);
    assert!(output.status.success(), "{}", stderr(&output));
    // Pauses without a pattern, but the same in every test.
    let mut state = 7u64;
    for _ in 0..10 {
        let mut child = start(&sweep, &killed);
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        std::thread::sleep(Duration::from_millis(20 + (state >> 33) % 400));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let output = on("run", &sweep, &killed, &["--offline"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(table(&sweep, &killed), table(&sweep, &calm));
}

#[test]
fn two_runners_share_a_folder() {
    let dir = tempfile::tempdir().unwrap();
    let (sweep, out) = (sweep(dir.path(), 6, 4), dir.path().join("store"));
    let trained = |output: &std::process::Output| {
        let tally: serde_json::Value = serde_json::from_str(&stdout(output)).unwrap();
        tally["trained"].as_u64().unwrap()
    };
    let args = ["--offline", "--jobs", "1", "--format", "json"];
    let (first, second) = std::thread::scope(|scope| {
        let other = scope.spawn(|| on("run", &sweep, &out, &args));
        let one = on("run", &sweep, &out, &args);
        (one, other.join().unwrap())
    });
    assert_eq!(trained(&first) + trained(&second), 24);
    assert_eq!(n_records(&out), 24);
}

#[test]
fn parts_add_up_and_the_environment_names_them() {
    let dir = tempfile::tempdir().unwrap();
    let (sweep, out) = (sweep(dir.path(), 1, 1), dir.path().join("store"));
    assert!(
        on("run", &sweep, &out, &["--offline", "--shard", "1/3"])
            .status
            .success()
    );
    assert_eq!(n_records(&out), 2);
    for (name, index) in [("SLURM_ARRAY_TASK_ID", "1"), ("JOB_COMPLETION_INDEX", "2")] {
        let status = Command::new(env!("CARGO_BIN_EXE_mpu-cli"))
            .arg("run")
            .arg(&sweep)
            .args(["--offline", "--shards", "3", "--out"])
            .arg(&out)
            .env(name, index)
            .stdout(Stdio::null())
            .status()
            .unwrap();
        assert!(status.success());
    }
    assert_eq!(n_records(&out), 4);
    let lost = on("run", &sweep, &out, &["--offline", "--shards", "3"]);
    assert_eq!(lost.status.code(), Some(2));
    assert!(stderr(&lost).contains("--shard 1/3"), "{}", stderr(&lost));
}

#[test]
fn a_failed_run_is_kept_and_stops_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (path, out) = (dir.path().join("sweep.toml"), dir.path().join("store"));
    // One of the two datasets is not here.
    let text = "seed = 1\n[data]\ndataset = [\"usps\", \"waveform1\"]\ngenerated-rows = 300\n[train]\nepochs = 1\n";
    std::fs::write(&path, text).unwrap();
    let empty = dir.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let run = |extra: &[&str]| {
        let command = Command::new(env!("CARGO_BIN_EXE_mpu-cli"))
            .arg("run")
            .arg(&path)
            .args(["--offline", "--format", "json", "--out"])
            .arg(&out)
            .args(extra)
            .env("MPU_DATA_DIR", &empty)
            .env("HOME", &empty)
            .env("XDG_CACHE_HOME", &empty)
            .output()
            .unwrap();
        assert_eq!(command.status.code(), Some(1), "{}", stderr(&command));
        serde_json::from_str::<serde_json::Value>(&stdout(&command)).unwrap()
    };
    let tally = run(&[]);
    assert_eq!(
        (&tally["trained"], &tally["failed"]),
        (&1.into(), &1.into())
    );
    let status = stdout(&on("status", &path, &out, &[]));
    assert!(status.contains("failed: usps"), "{status}");
    let tally = run(&["--retry-failed"]);
    assert_eq!(
        (&tally["trained"], &tally["failed"]),
        (&0.into(), &1.into())
    );
}

/// Ctrl-C, and what Slurm sends before the time is up.
#[test]
fn a_signal_keeps_the_state_of_the_runs_in_hand() {
    for signal in ["-INT", "-TERM"] {
        let dir = tempfile::tempdir().unwrap();
        let (sweep, out) = (sweep(dir.path(), 1, 3000), dir.path().join("store"));
        let mut child = start(&sweep, &out);
        std::thread::sleep(Duration::from_millis(700));
        let pid = child.id().to_string();
        let kill = Command::new("kill").args([signal, &pid]).status().unwrap();
        assert!(kill.success());
        assert_eq!(child.wait().unwrap().code(), Some(130), "{signal}");
        let kept = std::fs::read_dir(out.join("work")).unwrap().count();
        assert_eq!(kept, 2, "{signal}: one state for each of two jobs");
        assert_eq!(n_records(&out), 0, "{signal}");
    }
}

#[test]
fn the_slurm_script_is_shown() {
    let dir = tempfile::tempdir().unwrap();
    let (sweep, out) = (sweep(dir.path(), 2, 1), dir.path().join("store"));
    let extra = [
        "--print",
        "--partition",
        "short",
        "--account",
        "lab",
        "--time",
        "00:30:00",
    ];
    let output = on("submit", &sweep, &out, &extra);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    for line in [
        "#SBATCH --array=0-0",
        "#SBATCH --partition=short",
        "#SBATCH --account=lab",
        "#SBATCH --time=00:30:00",
        "#SBATCH --signal=B:TERM@120",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
    assert!(!out.join("slurm/plan.jsonl").exists(), "nothing is written");
}
