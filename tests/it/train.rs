//! `mpu-cli train`: run folders, the same bits again, kill and resume, and what goes wrong.

use std::fmt::Write as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Folder, complaint, contains_all, ends_in, signal, stderr};

/// A small run: generated rows, small network, few epochs.
fn small(out: &str, extra: &str) -> String {
    format!(
        "train --offline --set data.generated-rows=600 --set model={{kind=\"mlp\",hidden=[32,32]}} \
         --set train.batch-size=64 --out {out} {extra}"
    )
}

fn digest(folder: &Folder, run: &str) -> String {
    let record = folder.read_json(&format!("{run}/record.json"));
    record["model-sha256"].as_str().unwrap().to_owned()
}

#[test]
fn a_run_leaves_a_complete_folder_and_a_table() {
    let folder = Folder::new();
    let text = folder.told(&small("run", "--epochs 3"));
    contains_all(&text, &["test accuracy", "run"]);
    for file in ["config.toml", "model.safetensors", "model.json"] {
        assert!(folder.path("run").join(file).is_file(), "{file}");
    }
    let metrics = folder.read("run/metrics.csv");
    assert_eq!(metrics.lines().count(), 1 + 3, "{metrics}");
    let record = folder.read_json("run/record.json");
    assert_eq!(record["key"]["epochs"], 3);
    assert!(record["scores"]["accuracy"].as_f64().unwrap() > 0.3);
    for name in folder.names("run") {
        assert!(!ends_in(&name, "part"), "{name}");
    }
}

#[test]
fn the_same_configuration_gives_the_same_bits() {
    let folder = Folder::new();
    for method in ["csmpu-abs", "csmpu-exact-nn"] {
        let train = |out: &str, extra: &str| {
            folder.told(&small(
                out,
                &format!("--epochs 3 --method {method} {extra}"),
            ));
            digest(&folder, out)
        };
        let [first, second, third, other] = [1, 2, 3, 4].map(|run| format!("{method}-{run}"));
        let bits = train(&first, "--threads 1");
        assert_eq!(bits, train(&second, "--threads 2"), "one thread and two");
        // From the folder's own resolved configuration.
        folder.told(&format!("train {first}/config.toml --out {third}"));
        assert_eq!(bits, digest(&folder, &third), "from config.toml");
        assert_ne!(bits, train(&other, "--seed 7"), "another seed");
    }
}

fn start(folder: &Folder, out: &str, extra: &str) -> Child {
    let mut child = folder
        .command(&small(out, &format!("{LONG} {extra}")))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    let checkpoint = folder.path(out).join("checkpoint.safetensors");
    while !checkpoint.exists() && child.try_wait().unwrap().is_none() {
        assert!(begun.elapsed() < Duration::from_mins(2), "no checkpoint");
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

const LONG: &str = "--epochs 150 --set train.checkpoint-every=1";

#[test]
fn a_killed_run_resumes_to_the_same_bits() {
    killed_and_resumed("");
}

#[test]
fn a_killed_run_of_the_candle_engine_resumes_to_the_same_bits() {
    killed_and_resumed("--engine candle");
}

fn killed_and_resumed(extra: &str) {
    let folder = Folder::new();
    folder.told(&small("undisturbed", &format!("{LONG} {extra}")));
    let mut child = start(&folder, "killed", extra);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(
        !folder.path("killed/record.json").exists(),
        "it was killed before its end"
    );
    folder.told("train --resume killed --offline");
    assert_eq!(digest(&folder, "undisturbed"), digest(&folder, "killed"));
    let metrics = |run: &str| folder.read(&format!("{run}/metrics.csv"));
    assert_eq!(metrics("undisturbed"), metrics("killed"));
}

#[cfg(unix)]
#[test]
fn ctrl_c_leaves_a_state_to_resume_from() {
    let folder = Folder::new();
    let child = start(&folder, "run", "");
    signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(stderr(&output).contains("--resume"), "{}", stderr(&output));
    folder.told("train --resume run --offline");
    assert_eq!(folder.read_json("run/record.json")["key"]["epochs"], 150);
}

/// Work that never looks whether it is to stop ends all the same.
#[cfg(unix)]
#[test]
fn ctrl_c_ends_an_estimate_that_takes_minutes() {
    let folder = Folder::new();
    let mut table = String::from("width,height,class\n");
    for row in 0..4000_u32 {
        let class = row % 80;
        let (x, y) = (class % 9, class / 9);
        let (dx, dy) = (row * 7919 % 101, row * 104_729 % 103);
        let name = match row / 80 % 5 {
            0 | 1 => format!("c{class}"),
            _ => String::new(),
        };
        writeln!(table, "{x}.{dx:03},{y}.{dy:03},{name}").unwrap();
    }
    folder.write("many.csv", table);
    // Three at a time share the second that each is given.
    for estimators in [
        ["auto", "moments", "bbe"],
        ["elkan-noto", "km2", "pen-l1"],
        ["dedpul", "labeling-rate", "shared-rate"],
    ] {
        let children = estimators.map(|estimator| {
            let line =
                format!("prior --data many.csv --estimator {estimator} --replicates 1000000");
            let mut command = folder.command(&line);
            command.stdout(Stdio::null()).stderr(Stdio::null());
            (estimator, command.spawn().unwrap())
        });
        std::thread::sleep(Duration::from_secs(1));
        for (estimator, mut child) in children {
            assert!(child.try_wait().unwrap().is_none(), "{estimator}: too fast");
            signal(&child, "-INT");
            let asked = Instant::now();
            let status = loop {
                if let Some(status) = child.try_wait().unwrap() {
                    break status;
                }
                if asked.elapsed() > Duration::from_secs(30) {
                    child.kill().unwrap();
                    panic!("{estimator} did not end");
                }
                std::thread::sleep(Duration::from_millis(20));
            };
            assert_eq!(status.code(), Some(130), "{estimator}");
        }
    }
}

/// A full disk or a closed pipe behind standard error.
#[cfg(unix)]
#[test]
fn what_cannot_be_said_stops_no_work() {
    let folder = Folder::new();
    let train = |out: &str| folder.command(&small(out, "--epochs 2 -v"));
    if let Ok(full) = std::fs::File::options().write(true).open("/dev/full") {
        let status = train("full").stdout(Stdio::null()).stderr(full).status();
        assert_eq!(status.unwrap().code(), Some(0));
    }
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = train("closed")
        .stdout(Stdio::null())
        .stderr(writer)
        .status();
    assert_eq!(status.unwrap().code(), Some(0));
    // Even what goes wrong keeps its exit code.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let again = train("closed")
        .stdout(Stdio::null())
        .stderr(writer)
        .status();
    assert_eq!(again.unwrap().code(), Some(2));
}

/// A disk that is full sooner or later: the system lets no file grow beyond a number of blocks.
#[cfg(unix)]
#[test]
fn a_full_disk_leaves_whole_files_and_a_run_that_goes_on() {
    let folder = Folder::new();
    let line = |out: &str| small(out, "--epochs 3 --set train.checkpoint-every=1");
    folder.told(&line("whole"));
    let mut full = 0;
    for blocks in [0, 1, 2, 8, 24, 72] {
        let out = format!("full-{blocks}");
        let command = folder.command(&line(&out));
        let limited = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
        let output = Command::new("sh")
            .current_dir(command.get_current_dir().unwrap())
            .args(["-c", &limited])
            .arg(command.get_program())
            .args(command.get_args())
            .output()
            .unwrap();
        if output.status.code() != Some(0) {
            full += 1;
            contains_all(&complaint(&output, &out), &["writing", &out]);
        }
        for name in folder.names(&out) {
            assert!(!ends_in(&name, "part"), "{out}: {name}");
        }
        if folder.path(&out).join("config.toml").exists() {
            folder.told(&format!("train --resume {out} --offline"));
        } else {
            folder.told(&line(&out));
        }
        assert_eq!(digest(&folder, "whole"), digest(&folder, &out), "{out}");
    }
    assert!(full > 2, "the disk was full {full} times only");
}

#[test]
fn a_run_killed_before_its_configuration_was_kept_can_begin_again() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("run")).unwrap();
    folder.write("run/.config.toml.77.part", "half");
    folder.refuses("train --resume run", &["no config.toml", "--out"]);
    folder.told(&small("run", "--epochs 1"));
    let names = folder.names("run");
    assert!(!names.iter().any(|name| ends_in(name, "part")), "{names:?}");
}

#[test]
fn the_candle_engine_has_the_figures_of_the_fused_one() {
    let folder = Folder::new();
    let risk = |engine: &str| -> f64 {
        folder.told(&small(engine, &format!("--epochs 3 --engine {engine}")));
        let metrics = folder.read(&format!("{engine}/metrics.csv"));
        let mut lines = metrics.lines().map(|line| line.split(','));
        let place = lines.next().unwrap().position(|name| name == "loss");
        let last = lines.next_back().unwrap().nth(place.unwrap());
        last.unwrap().parse().unwrap()
    };
    let (fused, candle) = (risk("fused"), risk("candle"));
    assert!(
        (fused - candle).abs() <= 1e-4 * fused.abs(),
        "{fused} {candle}"
    );
    assert!(
        folder
            .read("candle/config.toml")
            .contains("engine = \"candle\"")
    );
}

#[test]
fn sixteen_bits_are_for_the_candle_engine_and_thirty_two_are_not_written_down() {
    let folder = Folder::new();
    folder.refuses(
        &small("run", "--epochs 1 --precision bf16 --engine fused"),
        &["precision bf16: ", "hint: use `--precision f32`"],
    );
    assert!(!folder.path("run").exists());
    folder.refuses(&small("run", "--precision f8"), &["bf16"]);
    folder.told(&small("run", "--epochs 1 --precision f32"));
    assert!(!folder.read("run/config.toml").contains("precision"));
    folder.told(&small("half", "--epochs 1 --precision bf16"));
    assert!(
        folder
            .read("half/config.toml")
            .contains("precision = \"bf16\"")
    );
}

#[test]
fn a_device_that_is_not_there_is_told() {
    let folder = Folder::new();
    let output = folder.run(&small("run", "--epochs 1 --device auto"));
    assert!(output.status.success(), "{}", stderr(&output));
    // Where there is a card, there is nothing to tell.
    let told = stderr(&output);
    let has_card = folder
        .run(&small("other", "--epochs 1 --device cuda"))
        .status
        .success();
    assert!(has_card || told.contains("the CPU is used"), "{told}");
    let line = "train --offline --epochs 1 --engine sideways --out there";
    folder.refuses(line, &["fused", "candle"]);
}

#[test]
fn a_sweep_chooses_by_held_out_rows() {
    let folder = Folder::new();
    let sweep = "--set sweep.lrs=[0.001,0.0000001] --set data.validation-share=0.1";
    folder.told(&small("sweep", &format!("--epochs 4 {sweep}")));
    let record = folder.read_json("sweep/record.json");
    let rows = record["rates"].as_array().unwrap();
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
    let folder = Folder::new();
    let wild = "--lr 1e38 --loss unhinged --set train.checkpoint-every=1";
    folder.refuses(&small("run", wild), &["diverged", "lower learning rate"]);
    assert!(!folder.path("run/record.json").exists());
}

#[test]
fn what_is_wrong_is_named_and_nothing_is_left_behind() {
    let folder = Folder::new();
    folder.write("file", "");
    for (line, told) in [
        ("--set train.epoch=3 --out run", &["epoch", "epochs"][..]),
        ("--epochs 0 --out run", &["train.epochs is 0"]),
        ("--lr -1 --out run", &["train.lr is -1"]),
        ("--prior 1.5 --out run", &["prior", "1.5"]),
        ("--classes 9 --out run", &["classes", "9"]),
        ("--method csmpu --out run", &["csmpu-abs"]),
        ("--device gpu --out run", &["cuda:N"]),
        (
            "--device cuda:99 --set data.generated-rows=300 --out run",
            &["device cuda:99", "--device cpu"],
        ),
        ("no-such.toml --out run", &["no-such.toml"]),
        ("--resume run", &["config.toml"]),
        (
            "--dataset mnist --offline --data-dir no-data --out run",
            &["mnist", "train-images-idx3-ubyte.gz", "no-data"],
        ),
        (
            "--epochs 1 --offline --out file/run",
            &["file is a file, not a folder"],
        ),
    ] {
        let output = folder.bare(&format!("train {line}")).output().unwrap();
        contains_all(&complaint(&output, line), told);
        assert!(!folder.path("run").exists(), "{line} left a folder");
    }
}

#[test]
fn a_folder_with_files_is_not_overwritten() {
    let folder = Folder::new();
    folder.write("precious.txt", "mine");
    folder.refuses(&small(".", "--epochs 1"), &["holds files already"]);
    assert_eq!(folder.names("."), ["precious.txt"]);
}

#[test]
fn every_configuration_of_the_repository_resolves() {
    let configs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../configs");
    let mut n_configs = 0;
    for entry in std::fs::read_dir(configs).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if ends_in(&name, "toml") {
            Folder::new().told(&format!("show configs/{name}"));
            n_configs += 1;
        }
    }
    assert_eq!(n_configs, 9, "one for each dataset");
}
