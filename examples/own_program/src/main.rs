//! Fits a classifier to a CSV file, answers new rows, saves it, and answers the same after loading it again.
use mpu::{Classifier, Method, TableOptions, read_table};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [table, new, folder] = args.as_slice() else {
        return Err("usage: own_program TABLE NEW FOLDER".into());
    };
    let mut options = TableOptions::default();
    options.label_column = Some("defect".to_owned());
    options.id_column = Some("id".to_owned());
    options.missing = mpu::data::table::Missing::Median;
    let table = read_table(table.as_str(), &options)?;

    let params = Classifier::params().method(Method::CsmpuSt).seed(7);
    let model = params.fit(&table)?;
    let rows = model.rows(new.as_str())?;
    let answers = model.predict(&rows)?;
    model.save(folder)?;
    assert_eq!(Classifier::load(folder)?.predict(&rows)?, answers);
    for (row, name) in model.answers(&rows)?.iter().enumerate() {
        println!("row {row}: {name}, margin {:.2}", answers.margins[row]);
    }
    Ok(())
}
