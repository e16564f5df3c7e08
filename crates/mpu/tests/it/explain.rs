use std::fmt::Write as _;
use std::sync::OnceLock;

use mpu::data::Features;
use mpu::{Classifier, ModelConfig, MpuTable, Shown, TableOptions, read_table};

/// Heavy rows are dents and red ones are scratches; `noise` and `constant` say nothing.
fn table() -> MpuTable {
    let mut state = 7_u64;
    let mut uniform = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / f64::from(1 << 24)
    };
    let mut text = "noise,weight,colour,constant,kind\n".to_owned();
    for _ in 0..600 {
        let draw = uniform();
        let (kind, weight, colour) = match draw {
            ..0.25 => ("dent", 4.0, ["blue", "grey"][(2.0 * uniform()) as usize]),
            ..0.45 => ("scratch", 0.0, "red"),
            _ => ("", 0.0, ["blue", "grey"][(2.0 * uniform()) as usize]),
        };
        let kind = if uniform() < 0.5 { kind } else { "" };
        let _ = writeln!(
            text,
            "{:.3},{:.3},{colour},1,{kind}",
            uniform(),
            weight + uniform()
        );
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("items.csv");
    std::fs::write(&file, text).unwrap();
    let options = TableOptions {
        label_column: Some("kind".to_owned()),
        missing: mpu::data::table::Missing::Keep,
        ..TableOptions::default()
    };
    read_table(&file, &options).unwrap()
}

fn fitted(table: &MpuTable, model: ModelConfig, threads: usize) -> Classifier {
    let params = Classifier::params().priors([("dent", 0.14), ("scratch", 0.11)]);
    let params = params.model(model).epochs(25).threads(threads).seed(3);
    params.fit(table).unwrap()
}

fn models() -> [ModelConfig; 3] {
    let hidden = vec![32];
    [
        ModelConfig::Forest { trees: Some(60) },
        ModelConfig::Mlp {
            hidden: hidden.clone(),
        },
        ModelConfig::Auto { hidden },
    ]
}

/// The models, each fitted by two threads, which both tests look at.
fn by_two_threads() -> &'static [Classifier; 3] {
    static FITTED: OnceLock<[Classifier; 3]> = OnceLock::new();
    FITTED.get_or_init(|| models().map(|config| fitted(&table(), config, 2)))
}

#[test]
fn columns_that_decide_matter_and_others_do_not() {
    let table = table();
    for (config, two) in models().into_iter().zip(by_two_threads()) {
        let model = fitted(&table, config.clone(), 1);
        let found = model.card().importances.as_ref().unwrap();
        assert_eq!(found.not_tried, 0);
        let of = |name: &str| {
            let column = found.columns.iter().find(|column| column.column == name);
            column.unwrap().importance
        };
        let first: Vec<&str> = found.columns[..2]
            .iter()
            .map(|c| c.column.as_str())
            .collect();
        assert!(
            first.contains(&"weight") && first.contains(&"colour"),
            "{config:?}: {found:?}"
        );
        let noise = of("noise");
        assert!(
            noise.rise.abs() <= 2.0 * noise.error,
            "{config:?}: {found:?}"
        );
        assert_eq!((of("constant").rise, of("constant").error), (0.0, 0.0));
        assert_eq!(two.card().importances.as_ref(), Some(found));
    }
}

#[test]
fn an_answer_is_explained_by_what_decided_it() {
    let table = table();
    for (config, model) in models().into_iter().zip(by_two_threads()) {
        let width = model.schema().unwrap().width();
        // noise, weight, blue, grey, red, constant
        assert_eq!(width, 6);
        let heavy = [0.5, 4.5, 1.0, 0.0, 0.0, 1.0];
        let red = [0.5, 0.5, 0.0, 0.0, 1.0, 1.0];
        let rows = Features::new([heavy, red].concat(), table.features.shape()).unwrap();
        let found = model.explain(&rows).unwrap();
        assert_eq!((found[0].answer, found[1].answer), (0, 1), "{config:?}");
        for (row, column) in found.iter().zip([1, 2]) {
            assert_eq!(row.effects.len(), 4);
            assert_eq!(row.effects[0].column, column, "{config:?}: {row:?}");
            assert!(row.effects[0].effect > 0.5, "{config:?}: {row:?}");
            let constant = row.effects.iter().find(|effect| effect.column == 3);
            assert_eq!(constant.unwrap().effect, 0.0);
        }
        assert_eq!(model.shown(&heavy, 1).unwrap(), Shown::Number(4.5));
        let colour = Shown::Category("red".to_owned());
        assert_eq!(model.shown(&red, 2).unwrap(), colour);
        let gap = [0.5, f32::NAN, 1.0, 0.0, 0.0, 1.0];
        assert_eq!(model.shown(&gap, 1).unwrap(), Shown::Missing);

        // The folder of a model is all that it takes, and threads do not matter.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        model.save(&path).unwrap();
        let again = Classifier::load(&path).unwrap();
        assert_eq!(again.explain(&rows).unwrap(), found);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let alone = pool.unwrap().install(|| again.explain(&rows));
        assert_eq!(alone.unwrap(), found);
        std::fs::remove_file(path.join("background.json")).unwrap();
        let told = Classifier::load(&path).unwrap().explain(&rows);
        assert!(told.unwrap_err().to_string().contains("train again"));
    }
}
