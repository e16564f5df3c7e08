//! `mpu-cli reproduce`: the paper's tables and figures from what is here.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::support::{stderr, stdout};

/// With no data, no cache and no network.
fn bare(folder: &Path, args: &[&str]) -> Command {
    let empty = folder.join("empty");
    std::fs::create_dir_all(&empty).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_mpu-cli"));
    command
        .arg("reproduce")
        .args(args)
        .arg("--offline")
        .current_dir(folder)
        .env("MPU_DATA_DIR", &empty)
        .env("HOME", &empty)
        .env("XDG_CACHE_HOME", &empty)
        .env_remove("HF_HOME");
    command
}

fn good(output: &Output) -> String {
    assert!(output.status.success(), "{}", stderr(output));
    stdout(output)
}

#[test]
fn without_data_waveform_is_filled_and_the_others_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let text = good(
        &bare(dir.path(), &["all", "--quick", "--out", "q"])
            .output()
            .unwrap(),
    );
    assert!(text.contains("24 trained, 0 failed"), "{text}");
    for dataset in [
        "mnist",
        "fashion-mnist",
        "kmnist",
        "usps",
        "svhn",
        "semeion",
        "pendigits",
    ] {
        let told =
            format!("missing: {dataset}: not here; get it with `mpu-cli data fetch {dataset}`");
        assert!(text.contains(&told), "{told}");
    }
    let folder = dir.path().join("q");
    let results = std::fs::read_to_string(folder.join("RESULTS.md")).unwrap();
    assert!(results.contains("run in 3 of them"), "{results}");
    let cells = std::fs::read_to_string(folder.join("accuracy-cells.csv")).unwrap();
    let filled = cells.lines().filter(|line| line.contains("waveform1"));
    assert!(filled.count() >= 3 * 7, "{cells}");
    for file in [
        "results.html",
        "table-1.csv",
        "table-2.tex",
        "loss-variants.csv",
        "macro-f1.tex",
        "figures/figure1.svg",
        "figures/figure2.svg",
        "figures/figure4.svg",
    ] {
        assert!(folder.join(file).is_file(), "{file}");
    }
    let again = good(
        &bare(dir.path(), &["all", "--quick", "--out", "q"])
            .output()
            .unwrap(),
    );
    assert!(again.contains("24 were there, 0 trained"), "{again}");
}

#[test]
fn killed_again_and_again_it_ends_with_the_same_tables() {
    let dir = tempfile::tempdir().unwrap();
    let args = |out: &'static str| {
        let only = [
            "tables",
            "--only",
            "table1,table2,table3",
            "--datasets",
            "waveform1",
        ];
        let size = [
            "--seeds",
            "2",
            "--epochs",
            "1",
            "--methods",
            "csmpu-abs,area",
            "--out",
            out,
        ];
        [&only[..], &size].concat()
    };
    good(&bare(dir.path(), &args("calm")).output().unwrap());
    for pause in [30, 500, 200, 900, 100, 350, 700, 60, 420, 250] {
        let mut command = bare(dir.path(), &args("killed"));
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(pause));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    good(&bare(dir.path(), &args("killed")).output().unwrap());
    for name in [
        "RESULTS.md",
        "results.html",
        "table-1.csv",
        "table-1.tex",
        "accuracy-cells.csv",
    ] {
        let read = |out: &str| std::fs::read_to_string(dir.path().join(out).join(name)).unwrap();
        assert_eq!(read("killed"), read("calm"), "{name}");
    }
}

#[test]
fn only_what_is_asked_for_is_planned() {
    let dir = tempfile::tempdir().unwrap();
    let planned = |args: &[&str]| {
        let all = [args, &["--print", "--engine", "slurm", "--out", "s"]].concat();
        let output = bare(dir.path(), &all).output().unwrap();
        (output.status.code(), stdout(&output), stderr(&output))
    };
    let (code, text, _) = planned(&["tables", "--datasets", "waveform1", "--only", "table2"]);
    assert_eq!(code, Some(0));
    assert!(text.contains("#SBATCH --array=0-"), "{text}");
    let (code, _, error) = planned(&["tables", "--only", "table9"]);
    assert_eq!(code, Some(2));
    assert!(error.contains("table1"), "{error}");
}
