//! `mpu-cli train`: run folders, the same bits again, kill and resume, and what goes wrong.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{mpu_cli, stderr, stdout};

/// A small run: generated rows, small network, few epochs.
fn small(out: &Path, extra: &[&str]) -> Vec<String> {
    let fixed = [
        "train",
        "--offline",
        "--set",
        "data.generated-rows=600",
        "--set",
        "model={kind=\"mlp\", hidden=[32, 32]}",
        "--set",
        "train.batch-size=64",
        "--out",
    ];
    let mut args: Vec<String> = fixed.iter().map(|&arg| arg.to_owned()).collect();
    args.push(out.display().to_string());
    args.extend(extra.iter().map(|&arg| arg.to_owned()));
    args
}

fn train(out: &Path, extra: &[&str]) -> std::process::Output {
    let args = small(out, extra);
    mpu_cli(&args.iter().map(String::as_str).collect::<Vec<_>>())
}

fn record(folder: &Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(folder.join("record.json")).unwrap()).unwrap()
}

fn digest(folder: &Path) -> String {
    record(folder)["model-sha256"].as_str().unwrap().to_owned()
}

#[test]
fn a_run_leaves_a_complete_folder_and_a_table() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("run");
    let output = train(&out, &["--epochs", "3"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(
        text.contains("test accuracy") && text.contains(&out.display().to_string()),
        "{text}"
    );
    for file in [
        "config.toml",
        "model.safetensors",
        "model.json",
        "metrics.csv",
        "record.json",
    ] {
        assert!(out.join(file).is_file(), "{file}");
    }
    let metrics = std::fs::read_to_string(out.join("metrics.csv")).unwrap();
    assert_eq!(metrics.lines().count(), 1 + 3, "{metrics}");
    let record = record(&out);
    assert_eq!(record["key"]["epochs"], 3);
    assert!(record["scores"]["accuracy"].as_f64().unwrap() > 0.3);
    let leftovers = std::fs::read_dir(&out)
        .unwrap()
        .filter(|entry| {
            entry
                .as_ref()
                .unwrap()
                .file_name()
                .to_string_lossy()
                .ends_with(".part")
        })
        .count();
    assert_eq!(leftovers, 0);
}

#[test]
fn the_same_configuration_gives_the_same_bits() {
    let dir = tempfile::tempdir().unwrap();
    let folder = |name: &str| dir.path().join(name);
    for method in ["csmpu-abs", "csmpu-exact-nn"] {
        let first = folder(&format!("{method}-1"));
        let run = train(
            &first,
            &["--epochs", "3", "--method", method, "--threads", "1"],
        );
        assert!(run.status.success(), "{}", stderr(&run));
        let second = folder(&format!("{method}-2"));
        assert!(
            train(
                &second,
                &["--epochs", "3", "--method", method, "--threads", "2"]
            )
            .status
            .success()
        );
        assert_eq!(digest(&first), digest(&second), "one thread and two");
        // From the folder's own resolved configuration.
        let third = folder(&format!("{method}-3"));
        let config = first.join("config.toml").display().to_string();
        let out = third.display().to_string();
        assert!(mpu_cli(&["train", &config, "--out", &out]).status.success());
        assert_eq!(digest(&first), digest(&third), "from config.toml");
        let other = folder(&format!("{method}-4"));
        assert!(
            train(
                &other,
                &["--epochs", "3", "--method", method, "--seed", "7"]
            )
            .status
            .success()
        );
        assert_ne!(digest(&first), digest(&other), "another seed");
    }
}

fn start(out: &Path, extra: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_mpu-cli"))
        .args(small(out, extra))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn wait_for(path: &Path, child: &mut Child) {
    let begun = Instant::now();
    while !path.exists() && child.try_wait().unwrap().is_none() {
        assert!(
            begun.elapsed() < Duration::from_mins(2),
            "no {}",
            path.display()
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

const LONG: [&str; 4] = ["--epochs", "150", "--set", "train.checkpoint-every=1"];

#[test]
fn a_killed_run_resumes_to_the_same_bits() {
    let dir = tempfile::tempdir().unwrap();
    let undisturbed = dir.path().join("undisturbed");
    assert!(train(&undisturbed, &LONG).status.success());
    let killed = dir.path().join("killed");
    let mut child = start(&killed, &LONG);
    wait_for(&killed.join("checkpoint.safetensors"), &mut child);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(
        !killed.join("record.json").exists(),
        "it was killed before its end"
    );
    let resumed = mpu_cli(&[
        "train",
        "--resume",
        &killed.display().to_string(),
        "--offline",
    ]);
    assert!(resumed.status.success(), "{}", stderr(&resumed));
    assert_eq!(digest(&undisturbed), digest(&killed));
    let metrics = |folder: &Path| std::fs::read(folder.join("metrics.csv")).unwrap();
    assert_eq!(metrics(&undisturbed), metrics(&killed));
}

#[cfg(unix)]
#[test]
fn ctrl_c_leaves_a_state_to_resume_from() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("run");
    let mut child = start(&out, &LONG);
    wait_for(&out.join("checkpoint.safetensors"), &mut child);
    let pid = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &pid])
            .status()
            .unwrap()
            .success()
    );
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(stderr(&output).contains("--resume"), "{}", stderr(&output));
    let resumed = mpu_cli(&["train", "--resume", &out.display().to_string(), "--offline"]);
    assert!(resumed.status.success(), "{}", stderr(&resumed));
    assert_eq!(record(&out)["key"]["epochs"], 150);
}

#[test]
fn a_sweep_chooses_by_held_out_rows() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("sweep");
    let output = train(
        &out,
        &[
            "--epochs",
            "4",
            "--set",
            "sweep.lrs=[0.001, 0.0000001]",
            "--set",
            "data.validation-share=0.1",
        ],
    );
    assert!(output.status.success(), "{}", stderr(&output));
    let record = record(&out);
    let rows = record["rates"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    let chosen: Vec<bool> = rows
        .iter()
        .map(|row| row["chosen"].as_bool().unwrap())
        .collect();
    assert_eq!(
        chosen,
        [true, false],
        "a rate that learns nothing is not chosen: {record}"
    );
    assert_eq!(record["key"]["lr"], 0.001);
}

#[test]
fn divergence_stops_with_advice_and_keeps_the_checkpoint() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("run");
    let output = train(
        &out,
        &[
            "--lr",
            "1e38",
            "--loss",
            "unhinged",
            "--set",
            "train.checkpoint-every=1",
        ],
    );
    assert_eq!(output.status.code(), Some(2));
    let message = stderr(&output);
    assert!(
        message.contains("diverged") && message.contains("lower learning rate"),
        "{message}"
    );
    assert!(!out.join("record.json").exists());
}

#[test]
fn what_is_wrong_is_named_and_nothing_is_left_behind() {
    let dir = tempfile::tempdir().unwrap();
    let empty = dir.path().join("no-data");
    let out = dir.path().join("run");
    let (data_dir, out_name) = (empty.display().to_string(), out.display().to_string());
    let cache = dir.path().join("cache").display().to_string();
    let check = |args: &[&str], told: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_mpu-cli"))
            .args(args)
            .env("MPU_CACHE_DIR", &cache)
            .env("HF_HOME", &cache)
            .env_remove("MPU_DATA_DIR")
            .output()
            .unwrap();
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {message}");
        for word in told {
            assert!(message.contains(word), "{args:?}: {message}");
        }
        assert!(!out.exists(), "{args:?} left a folder");
    };
    let out = out_name.as_str();
    check(
        &["train", "--set", "train.epoch=3", "--out", out],
        &["epoch", "epochs"],
    );
    check(
        &["train", "--epochs", "0", "--out", out],
        &["train.epochs is 0"],
    );
    check(&["train", "--lr", "-1", "--out", out], &["train.lr is -1"]);
    check(
        &["train", "--prior", "1.5", "--out", out],
        &["prior", "1.5"],
    );
    check(
        &["train", "--classes", "9", "--out", out],
        &["classes", "9"],
    );
    check(
        &["train", "--method", "csmpu", "--out", out],
        &["csmpu-abs"],
    );
    check(&["train", "--device", "gpu", "--out", out], &["cuda:N"]);
    check(&["train", "no-such.toml", "--out", out], &["no-such.toml"]);
    check(&["train", "--resume", out], &["config.toml"]);
    check(
        &[
            "train",
            "--dataset",
            "mnist",
            "--offline",
            "--data-dir",
            &data_dir,
            "--out",
            out,
        ],
        &["mnist", "train-images-idx3-ubyte.gz", &data_dir],
    );
    let file = dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    let below = file.join("run").display().to_string();
    check(
        &["train", "--epochs", "1", "--offline", "--out", &below],
        &["making the folder"],
    );
}

#[test]
fn a_folder_with_files_is_not_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("precious.txt"), "mine").unwrap();
    let output = train(dir.path(), &["--epochs", "1"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("holds files already"),
        "{}",
        stderr(&output)
    );
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn every_configuration_of_the_repository_resolves() {
    let configs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs");
    let mut n_configs = 0;
    for entry in std::fs::read_dir(configs).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            let output = mpu_cli(&["show", &path.display().to_string()]);
            assert!(
                output.status.success(),
                "{}: {}",
                path.display(),
                stderr(&output)
            );
            n_configs += 1;
        }
    }
    assert_eq!(n_configs, 8, "one for each dataset");
}
