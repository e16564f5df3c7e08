//! What goes wrong: tables, outputs, models, and a user who changes their mind.

use super::*;

#[test]
fn what_is_wrong_with_the_data_is_named_and_nothing_is_written() {
    let work = Work::new(3);
    let check = |text: &str, more: &[&str], told: &[&str]| {
        std::fs::write(work.file("bad.csv"), text).unwrap();
        let output = work.predict("bad.csv", "scored.csv", more);
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{text}: {message}");
        for word in told {
            assert!(message.contains(word), "{text}: {message}");
        }
        let left: Vec<_> = std::fs::read_dir(work.dir.path())
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        assert_eq!(left.len(), 2, "{left:?}");
    };
    check("id,weight,colour\na,1,red\n", &[], &["bad.csv", "length"]);
    let extra = "id,weight,length,colour,smell\na,1,1,red,2\n";
    check(extra, &[], &["smell", "--ignore-extra"]);
    let other = "id,length,weight,colour\na,1,2,red\n";
    check(other, &[], &["`length`", "--any-order"]);
    let word = "id,weight,length,colour\na,1,1,red\nb,1,much,red\n";
    check(word, &[], &["bad.csv", "line 3", "length", "much"]);
    check(word, &["--target-priors", "estimate"], &["line 3", "much"]);
    check("id,weight,length,colour\n", &[], &["bad.csv", "no rows"]);
    let fine = "id,weight,length,colour\na,1,1,red\n";
    check(
        fine,
        &["--threshold", "1.5"],
        &["--threshold is 1.5", "between 0 and 1"],
    );
    check(
        fine,
        &["--threshold", "dent=0.5"],
        &["nothing of class `scratch`"],
    );
    check(
        fine,
        &["--threshold", "rust=0.5"],
        &["`rust`", "dent, scratch"],
    );
    check(
        fine,
        &["--target-priors", "dent=0.9,scratch=0.9"],
        &["--target-priors", "1.8"],
    );
    check(fine, &["--target-priors", "flat"], &["flat", "uniform"]);
    check(
        fine,
        &["--target-priors", "uniform", "--precision-target", "0.9"],
        &["--precision-target", "uniform"],
    );
    check(
        fine,
        &["--threshold", "0.5", "--precision-target", "0.9"],
        &["cannot be used with"],
    );
    check(fine, &["--top", "0"], &["--top"]);
    check(fine, &["--cost-matrix", "no-such.csv"], &["no-such.csv"]);

    // What was refused is done where it is allowed.
    for (text, flag) in [(extra, "--ignore-extra"), (other, "--any-order")] {
        std::fs::write(work.file("bad.csv"), text).unwrap();
        let output = work.predict("bad.csv", "scored.csv", &[flag, "--force"]);
        assert!(output.status.success(), "{}", stderr(&output));
    }
}

#[test]
fn outputs_are_not_overwritten_unless_told() {
    let work = Work::new(3);
    std::fs::write(work.file("scored.csv"), "precious").unwrap();
    let output = work.predict("new.csv", "scored.csv", &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--force"), "{}", stderr(&output));
    assert_eq!(
        std::fs::read_to_string(work.file("scored.csv")).unwrap(),
        "precious"
    );
    assert_eq!(work.scored("scored.csv", &["--force"]).len(), 3);
    for (out, told) in [
        ("scored.txt", "--out-format"),
        ("no/such/folder.csv", "must exist"),
        ("", "is a folder"),
    ] {
        let output = work.predict(
            "new.csv",
            out,
            &["--out-format", "csv"][..if out == "scored.txt" { 0 } else { 2 }],
        );
        assert_eq!(output.status.code(), Some(2), "{out}");
        assert!(stderr(&output).contains(told), "{out}: {}", stderr(&output));
    }
    // Where nobody may write, whoever runs the test.
    if cfg!(target_os = "linux") {
        let (model, data) = (path(model()), work.file("new.csv"));
        let output = mpu_cli(&[
            "predict",
            "--model",
            model,
            "--data",
            path(&data),
            "--out",
            "/proc/scored.csv",
        ]);
        assert_eq!(output.status.code(), Some(2));
        assert!(
            stderr(&output).contains("writing /proc/scored.csv"),
            "{}",
            stderr(&output)
        );
    }
}

#[test]
fn models_that_cannot_be_used_say_why() {
    let work = Work::new(3);
    let check = |name: &str, change: &dyn Fn(&Path), told: &[&str]| {
        let folder = work.file(name);
        copy_model(&folder, |_| {});
        change(&folder);
        let (data, out) = (work.file("new.csv"), work.file("scored.csv"));
        let output = mpu_cli(&[
            "predict",
            "--model",
            path(&folder),
            "--data",
            path(&data),
            "--out",
            path(&out),
        ]);
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{name}: {message}");
        for word in told {
            assert!(message.contains(word), "{name}: {message}");
        }
        assert!(!out.exists());
    };
    let card = |folder: &Path, change: &dyn Fn(&mut serde_json::Value)| {
        let file = folder.join("model.json");
        let mut card = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        change(&mut card);
        std::fs::write(file, card.to_string()).unwrap();
    };
    check(
        "cut",
        &|folder| {
            let file = folder.join("model.safetensors");
            let bytes = std::fs::read(&file).unwrap();
            std::fs::write(file, &bytes[..bytes.len() / 2]).unwrap();
        },
        &["model.safetensors", "damaged"],
    );
    check(
        "newer",
        &|folder| card(folder, &|card| card["version"] = 99.into()),
        &["model.json", "version 99", "newer mpu-cli"],
    );
    check(
        "benchmark",
        &|folder| {
            card(folder, &|card| {
                card.as_object_mut().unwrap().remove("schema");
            });
        },
        &["benchmark", "train --data"],
    );
    check(
        "narrow",
        &|folder| {
            card(folder, &|card| {
                card["class_names"] = serde_json::json!(["dent", "negative"]);
            });
        },
        &["model.json is damaged", "2 class names where 3"],
    );
    check(
        "unfinished",
        &|folder| std::fs::remove_file(folder.join("model.json")).unwrap(),
        &["not finished", "--resume"],
    );

    // Without calibration there are still probabilities, and a warning.
    let raw = work.file("raw");
    copy_model(&raw, |card| {
        card.as_object_mut().unwrap().remove("calibration");
    });
    let data = work.file("new.csv");
    let output = mpu_cli(&[
        "predict",
        "--model",
        path(&raw),
        "--data",
        path(&data),
        "--out",
        "-",
    ]);
    assert!(output.status.success() && stderr(&output).contains("not calibrated"));
    for row in csv_rows(&output.stdout) {
        let scores = CLASSES.map(|class| number(&row, &format!("score:{class}")).exp());
        let p = scores[0] / scores.iter().sum::<f64>();
        assert!((probabilities(&row)[0] - p).abs() < 1e-5);
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_leaves_no_output() {
    use std::process::{Command, Stdio};

    let work = Work::new(300_000);
    let (data, out) = (work.file("new.csv"), work.file("scored.csv"));
    let mut child = Command::new(env!("CARGO_BIN_EXE_mpu-cli"))
        .args(["predict", "--model", path(model()), "--data", path(&data)])
        .args(["--out", path(&out), "--target-priors", "estimate"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let files = || std::fs::read_dir(work.dir.path()).unwrap().count();
    while files() < 2 && child.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
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
    assert!(
        stderr(&output).contains("interrupted"),
        "{}",
        stderr(&output)
    );
    assert_eq!(files(), 1, "only the data are left");
}
