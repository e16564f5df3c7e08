//! `mpu-cli data` and `mpu-cli split`.

use crate::support::{mpu_cli, stderr, stdout};

#[test]
fn the_list_names_all_eight() {
    let text = stdout(&mpu_cli(&["data", "list", "--offline"]));
    for name in [
        "mnist",
        "fashion-mnist",
        "kmnist",
        "usps",
        "semeion",
        "svhn",
        "pendigits",
        "waveform1",
    ] {
        assert!(text.contains(name), "{text}");
    }
    let json = stdout(&mpu_cli(&["data", "list", "--offline", "--format", "json"]));
    let rows: Vec<serde_json::Value> = serde_json::from_str(&json).unwrap();
    assert_eq!(rows.len(), 8);
    assert!(
        rows.iter()
            .any(|row| row["name"] == "waveform1" && row["here"] == true)
    );
}

#[test]
fn a_missing_dataset_fails_its_check_and_says_what_to_put_where() {
    let dir = tempfile::tempdir().unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_mpu-cli"))
        .args(["data", "verify", "usps", "--offline", "--data-dir"])
        .arg(dir.path())
        .env("MPU_CACHE_DIR", dir.path())
        .env("HF_HOME", dir.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(
        stdout(&output).contains("zip.train.gz"),
        "{}",
        stdout(&output)
    );
}

#[test]
fn a_split_of_generated_rows_needs_no_file() {
    let args = [
        "split",
        "--dataset",
        "waveform1",
        "--classes",
        "3",
        "--prior",
        "0.5",
        "--offline",
    ];
    let output = mpu_cli(&args);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("digest: "), "{}", stdout(&output));
    let wrong = mpu_cli(&[
        "split",
        "--dataset",
        "waveform1",
        "--classes",
        "3",
        "--prior",
        "2",
    ]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(stderr(&wrong).contains("prior"), "{}", stderr(&wrong));
}

#[test]
fn a_check_says_what_was_understood_and_names_near_columns() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("items.csv");
    let rows =
        "id,weight,colour,kind\na,1.5,red,dent\nb,2.5,blue,scratch\nc,1.0,red,\nd,,blue,unknown\n";
    std::fs::write(&file, rows).unwrap();
    let path = file.display().to_string();
    let args = [
        "check",
        "--data",
        &path,
        "--label-column",
        "kind",
        "--id-column",
        "id",
    ];
    let text = stdout(&mpu_cli(&args));
    for part in [
        "rows: 4",
        "dent",
        "scratch",
        "marked by blank: 1",
        "missing values: 1",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let json = stdout(&mpu_cli(&[&args[..], &["--format", "json"]].concat()));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["check"]["unlabeled"], 2);
    let wrong = mpu_cli(&["check", "--data", &path, "--label-column", "knd"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(stderr(&wrong).contains("`kind`"), "{}", stderr(&wrong));
}
