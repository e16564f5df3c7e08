//! `mpu-cli data`, `mpu-cli split` and `mpu-cli check`.

use crate::support::{Folder, contains_all, stdout};

#[test]
fn the_list_names_all_nine() {
    let folder = Folder::new();
    let names = "mnist fashion-mnist kmnist usps semeion svhn pendigits waveform1 cifar10";
    let names: Vec<&str> = names.split(' ').collect();
    contains_all(&folder.told("data list --offline"), &names);
    let rows = folder.json("data list --offline");
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 9);
    assert!(
        rows.iter()
            .any(|row| row["name"] == "waveform1" && row["here"] == true)
    );
}

#[test]
fn a_missing_dataset_fails_its_check_and_says_what_to_put_where() {
    let folder = Folder::new();
    let mut verify = folder.bare("data verify usps --offline --data-dir empty");
    let output = verify.output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    contains_all(&stdout(&output), &["zip.train.gz"]);
}

#[test]
fn a_split_of_generated_rows_needs_no_file() {
    let folder = Folder::new();
    let split = "split --dataset waveform1 --classes 3 --offline --prior";
    contains_all(&folder.told(&format!("{split} 0.5")), &["digest: "]);
    folder.refuses(&format!("{split} 2"), &["prior"]);
}

#[test]
fn a_check_says_what_was_understood_and_names_near_columns() {
    let folder = Folder::new();
    let rows =
        "id,weight,colour,kind\na,1.5,red,dent\nb,2.5,blue,scratch\nc,1.0,red,\nd,,blue,unknown\n";
    folder.write("items.csv", rows);
    let check = "check --data items.csv --label-column kind --id-column id";
    contains_all(
        &folder.told(check),
        &[
            "rows: 4",
            "dent",
            "scratch",
            "marked by blank: 1",
            "missing values: 1",
        ],
    );
    assert_eq!(folder.json(check)["check"]["unlabeled"], 2);
    folder.refuses("check --data items.csv --label-column knd", &["`kind`"]);
}
