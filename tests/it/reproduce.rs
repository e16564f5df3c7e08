//! `mpu-cli reproduce`: the paper's tables and figures from what is here.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use crate::support::{Folder, complaint, contains_all, stderr, stdout};

/// What it prints with no data, no cache and no network.
fn good(folder: &Folder, line: &str) -> String {
    let mut command = folder.bare(&format!("reproduce {line} --offline"));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    stdout(&output)
}

#[test]
fn without_data_waveform_is_filled_and_the_others_are_named() {
    let folder = Folder::new();
    let text = good(&folder, "all --quick --out q");
    assert!(text.contains("24 trained, 0 failed"), "{text}");
    let others = "mnist fashion-mnist kmnist usps svhn semeion pendigits";
    for dataset in others.split(' ') {
        let told =
            format!("missing: {dataset}: not here; get it with `mpu-cli data fetch {dataset}`");
        assert!(text.contains(&told), "{told}");
    }
    contains_all(&folder.read("q/RESULTS.md"), &["run in 3 of them"]);
    let cells = folder.read("q/accuracy-cells.csv");
    let filled = cells.lines().filter(|line| line.contains("waveform1"));
    assert!(filled.count() >= 3 * 7, "{cells}");
    let files = "results.html table-1.csv table-2.tex loss-variants.csv macro-f1.tex \
                 figures/figure1.svg figures/figure2.svg figures/figure4.svg";
    for file in files.split_whitespace() {
        assert!(folder.path("q").join(file).is_file(), "{file}");
    }
    let again = good(&folder, "all --quick --out q");
    assert!(again.contains("24 were there, 0 trained"), "{again}");
    // Who asks for one table later keeps the figures of before.
    let pages = || ["RESULTS.md", "results.html"].map(|file| folder.read(&format!("q/{file}")));
    let before = pages();
    assert!(before[0].contains("figures/figure4.svg"));
    good(&folder, "tables --only table1 --quick --out q");
    assert_eq!(pages(), before);
}

#[test]
fn stored_runs_count_where_their_data_are_not() {
    let folder = Folder::new();
    let stored = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results/mnist.jsonl");
    std::fs::create_dir(folder.path("r")).unwrap();
    std::fs::copy(stored, folder.path("r/mnist.jsonl")).unwrap();
    let table = |more: &str| {
        let line = "tables --only table1 --datasets mnist --methods csmpu-abs --out r";
        good(&folder, &format!("{line} {more}"))
    };
    let text = table("--seeds 3");
    let told = "9 needed, 9 were there, 0 trained, 0 failed, 0 not possible here";
    assert!(text.contains(told) && !text.contains("missing:"), "{text}");
    let text = table("--seeds 9");
    assert!(text.contains("missing: mnist: not here"), "{text}");
    assert!(!text.contains("0 not possible here"), "{text}");
}

#[test]
fn killed_again_and_again_it_ends_with_the_same_tables() {
    let folder = Folder::new();
    let line = "tables --only table1,table2,table3 --datasets waveform1 --seeds 2 --epochs 1 \
                --methods csmpu-abs,area --out";
    good(&folder, &format!("{line} calm"));
    for pause in [30, 500, 200, 100, 350, 60, 250] {
        let mut command = folder.bare(&format!("reproduce {line} killed --offline"));
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(pause));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    good(&folder, &format!("{line} killed"));
    let files = "RESULTS.md results.html table-1.csv table-1.tex accuracy-cells.csv";
    for name in files.split(' ') {
        let read = |out: &str| folder.read(&format!("{out}/{name}"));
        assert_eq!(read("killed"), read("calm"), "{name}");
    }
}

#[test]
fn rivals_rates_and_a_second_limit_have_places_of_their_own() {
    let folder = Folder::new();
    let made = |line: &str, n: usize| {
        let line = format!("tables --datasets waveform1 --seeds 1 --out r {line}");
        let text = good(&folder, &line);
        assert!(text.contains(&format!("{n} trained, 0 failed")), "{text}");
        folder.read("r/RESULTS.md")
    };
    // Three rivals at three priors.
    let text = made("--only rivals --epochs 2", 9);
    let parts = [
        "## In short",
        "## Rivals from",
        "| waveform1 | 3 | 0.5 | – | – |",
    ];
    contains_all(&text, &parts);
    // A given rate, and one that is chosen.
    assert!(!text.contains("## Learning rates"));
    let text = made("--only table2,rates --methods area --epochs 1", 2);
    contains_all(
        &text,
        &[
            "## Learning rates",
            "| waveform1 | 3 | 0.5 | area | 1 | 1 |",
        ],
    );
    // The network that knows all labels, with either recipe.
    made("--only table2 --methods supervised --epochs 1", 2);
    for file in ["summary", "rivals", "rates"] {
        assert!(folder.path("r").join(format!("{file}.csv")).is_file());
    }
}

#[test]
fn only_what_is_asked_for_is_planned() {
    let folder = Folder::new();
    let printed = "--print --engine slurm --out s";
    let text = good(
        &folder,
        &format!("tables --datasets waveform1 --only table2 {printed}"),
    );
    assert!(text.contains("#SBATCH --array=0-"), "{text}");
    let mut command = folder.bare(&format!("reproduce tables --only table9 {printed}"));
    let error = complaint(&command.output().unwrap(), "table9");
    assert!(error.contains("table1"), "{error}");
}
