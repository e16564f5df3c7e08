//! What goes wrong: tables, outputs, models, and a user who changes their mind.

use super::*;

#[test]
fn what_is_wrong_with_the_data_is_named_and_nothing_is_written() {
    let work = Work::new(3);
    let check = |text: &str, more: &str, told: &[&str]| {
        work.folder.write("bad.csv", text);
        let output = work.predict("bad.csv", "scored.csv", more);
        contains_all(&complaint(&output, text), told);
        let left = work.folder.names(".");
        assert_eq!(left.len(), 2, "{left:?}");
    };
    check("id,weight,colour\na,1,red\n", "", &["bad.csv", "length"]);
    let extra = "id,weight,length,colour,smell\na,1,1,red,2\n";
    check(extra, "", &["smell", "--ignore-extra"]);
    let other = "id,length,weight,colour\na,1,2,red\n";
    check(other, "", &["`length`", "--any-order"]);
    let word = "id,weight,length,colour\na,1,1,red\nb,1,much,red\n";
    check(word, "", &["bad.csv", "line 3", "length", "much"]);
    check(word, "--target-priors estimate", &["line 3", "much"]);
    check("id,weight,length,colour\n", "", &["bad.csv", "no rows"]);
    let fine = "id,weight,length,colour\na,1,1,red\n";
    check(
        fine,
        "--threshold 1.5",
        &["--threshold is 1.5", "between 0 and 1"],
    );
    check(
        fine,
        "--threshold dent=0.5",
        &["nothing of class `scratch`"],
    );
    check(fine, "--threshold rust=0.5", &["`rust`", "dent, scratch"]);
    check(
        fine,
        "--target-priors dent=0.9,scratch=0.9",
        &["--target-priors", "1.8"],
    );
    check(fine, "--target-priors flat", &["flat", "uniform"]);
    check(
        fine,
        "--threshold 0.5 --precision-target 0.9",
        &["cannot be used with"],
    );
    check(fine, "--top 0", &["--top"]);
    check(fine, "--cost-matrix no-such.csv", &["no-such.csv"]);

    // What was refused is done where it is allowed.
    for (text, flag) in [(extra, "--ignore-extra"), (other, "--any-order")] {
        work.folder.write("bad.csv", text);
        work.summary("bad.csv", "scored.csv", &format!("{flag} --force"));
    }
}

#[test]
fn outputs_are_not_overwritten_unless_told() {
    let work = Work::new(3);
    work.folder.write("scored.csv", "precious");
    let refuses = |out: &str, more: &str, told: &str| {
        let output = work.predict("new.csv", out, more);
        contains_all(&complaint(&output, out), &[told]);
    };
    refuses("scored.csv", "", "--force");
    assert_eq!(work.folder.read("scored.csv"), "precious");
    assert_eq!(work.scored("scored.csv", "--force").len(), 3);
    refuses("scored.txt", "", "--out-format");
    refuses("no/such/folder.csv", "--out-format csv", "must exist");
    refuses(".", "--out-format csv", "is a folder");
    // Where nobody may write, whoever runs the test.
    if cfg!(target_os = "linux") {
        refuses("/proc/scored.csv", "", "writing /proc/scored.csv");
    }
}

#[test]
fn models_that_cannot_be_used_say_why() {
    let work = Work::new(3);
    let check = |name: &str, change: &dyn Fn(&Path), told: &[&str]| {
        let folder = work.folder.path(name);
        copy_model(&folder, |_| {});
        change(&folder);
        let mut predict = work.command(&folder, "new.csv", "scored.csv", "");
        contains_all(&complaint(&predict.output().unwrap(), name), told);
        assert!(!work.folder.path("scored.csv").exists());
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
    let raw = work.folder.path("raw");
    copy_model(&raw, |card| {
        card.as_object_mut().unwrap().remove("calibration");
    });
    let mut predict = work.command(&raw, "new.csv", "-", "--target-priors pool");
    let output = predict.output().unwrap();
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
    use std::process::Stdio;

    let work = Work::new(300_000);
    let mut child = work
        .command(
            &model(),
            "new.csv",
            "scored.csv",
            "--target-priors estimate",
        )
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while work.folder.names(".").len() < 2 && child.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    contains_all(&stderr(&output), &["interrupted"]);
    assert_eq!(work.folder.names("."), ["new.csv"]);
}
