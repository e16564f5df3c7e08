use mpu_data::ClassCount;
use mpu_data::MpuLabel::{Labeled, Unlabeled};
use proptest::prelude::*;

use super::*;
use crate::metrics::Confusion;
use crate::proxy::pu_accuracy;
use crate::testing::{Draws, Plane};

/// A finite population: class, answer and a score for each class. Every class occurs.
fn population(k: usize, members: &[(usize, usize, u8)]) -> Vec<(usize, usize, Vec<f64>)> {
    (0..k)
        .map(|class| (class, class, 3))
        .chain(members.iter().copied())
        .map(|(class, answer, score)| {
            let scores =
                (0..k).map(|j| f64::from((score as usize * (j + 3) + class * j) as u8 % 7));
            (class % k, answer % k, scores.collect())
        })
        .collect()
}

/// Each member once as the pool, those of observed classes once more as labelled rows.
fn drawn(
    k: usize,
    members: &[(usize, usize, Vec<f64>)],
) -> (Priors, Vec<MpuLabel>, Vec<usize>, Vec<f64>) {
    let n = members.len() as f64;
    let share = |class| members.iter().filter(|m| m.0 == class).count() as f64 / n;
    let priors = Priors::new((0..k).map(share).collect()).unwrap();
    let (mut labels, mut answers, mut scores) = (Vec::new(), Vec::new(), Vec::new());
    for (class, answer, row) in members {
        let own = (*class < k - 1).then_some(Labeled(*class));
        for label in std::iter::once(Unlabeled).chain(own) {
            labels.push(label);
            answers.push(*answer);
            scores.extend(row);
        }
    }
    (priors, labels, answers, scores)
}

/// Counts of rows of the pool's own distribution.
fn evidence<'a>(priors: &'a UncertainPriors, labels: &'a [MpuLabel]) -> Evidence<'a> {
    Evidence {
        priors,
        target: &Target::Pool,
        labels,
        probabilities: None,
    }
}

proptest! {
    #[test]
    fn the_rates_are_those_of_the_population(
        k in 2usize..6,
        members in prop::collection::vec((0usize..6, 0usize..6, 0u8..40), 4..40),
    ) {
        let members = population(k, &members);
        let (priors, labels, answers, scores) = drawn(k, &members);
        let judgement = PuJudgement::new(&priors, &labels, &answers).unwrap();
        let classes = ClassCount::new(k).unwrap();
        let truths: Vec<usize> = members.iter().map(|m| m.0).collect();
        let given: Vec<usize> = members.iter().map(|m| m.1).collect();
        let truth = Confusion::new(classes, &truths, &given).unwrap();
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        for class in 0..k {
            let rates = truth.rates(class);
            let found = judgement.classes[class].as_ref().unwrap();
            for (found, truth) in [
                (found.recall, rates.recall),
                (found.precision, rates.precision),
                (found.f1, rates.f1),
            ] {
                let found = found.unwrap();
                prop_assert!(near(found.value, truth) && near(found.raw, truth));
                prop_assert!(found.low <= found.value + 1e-9 && found.value <= found.high + 1e-9);
            }
            for answer in 0..k {
                let share = truth.count(class, answer) as f64 / members.len() as f64;
                prop_assert!(near(judgement.confusion[class].as_ref().unwrap()[answer], share));
            }
        }
        let (mean, rates) = (judgement.mean.unwrap(), truth.macro_rates());
        prop_assert!(near(mean.recall.raw, rates.recall) && near(mean.recall.value, rates.recall));
        prop_assert!(near(mean.precision.raw, rates.precision));
        prop_assert!(near(mean.f1.raw, rates.f1) && near(mean.f1.value, rates.f1));
        let accuracy = judgement.accuracy.unwrap();
        prop_assert!(near(accuracy.raw, truth.accuracy()));
        prop_assert!(near(accuracy.raw, pu_accuracy(&priors, &labels, &answers).unwrap()));

        let rows: Vec<f64> = members.iter().flat_map(|m| m.2.clone()).collect();
        let areas = crate::auc::one_versus_rest(classes, &truths, &rows).unwrap();
        let found = pu_auc(&priors, &labels, &scores).unwrap();
        for (found, area) in found.iter().zip(areas) {
            prop_assert!(near(found.unwrap().raw, area.unwrap()));
        }
    }
}

#[test]
fn what_is_not_identified_is_not_there() {
    let priors = Priors::new(vec![0.3, 0.3, 0.4]).unwrap();
    let labels = [Labeled(0), Unlabeled, Unlabeled];
    let judgement = PuJudgement::new(&priors, &labels, &[0, 0, 2]).unwrap();
    assert!(judgement.classes[0].is_some());
    assert!(judgement.classes[1].is_none() && judgement.classes[2].is_none());
    assert!(judgement.mean.is_none() && judgement.accuracy.is_none());
    assert!(judgement.confusion[0].is_some() && judgement.confusion[2].is_none());
    let scores = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0];
    let areas = pu_auc(&priors, &labels, &scores).unwrap();
    assert!(areas[0].is_some() && areas[1].is_none() && areas[2].is_none());
    // A class of prior 0 needs no rows.
    let priors = Priors::new(vec![0.5, 0.0, 0.5]).unwrap();
    let judgement = PuJudgement::new(&priors, &labels, &[0, 0, 2]).unwrap();
    assert!(judgement.classes[2].is_some() && judgement.accuracy.is_some());
    // Never answered: no precision, F1 of 0.
    let judgement = PuJudgement::new(&priors, &labels, &[2, 2, 2]).unwrap();
    let class = judgement.classes[0].as_ref().unwrap();
    assert!(class.precision.is_none() && class.f1.unwrap().value == 0.0);
    // No negatives in the pool.
    let priors = Priors::new(vec![1.0, 0.0]).unwrap();
    let judgement = PuJudgement::new(&priors, &labels, &[0, 0, 0]).unwrap();
    assert!(judgement.classes[1].as_ref().unwrap().recall.is_none());
    assert_eq!(pu_auc(&priors, &labels, &[0.0; 6]).unwrap(), [None, None]);
    let text = serde_json::to_string(&judgement).unwrap();
    assert_eq!(
        serde_json::from_str::<PuJudgement>(&text).unwrap().n_pool,
        2
    );
}

/// Members of a finite population once as the pool and those of observed classes once more as labelled rows. A second
/// population has some members several times: its rates are those of a plain count.
#[test]
fn rates_of_another_population_are_those_of_its_members() {
    let members: Vec<(usize, usize, u8)> = (0..60usize)
        .map(|row| (row % 3, (row / 7 + row) % 3, 1))
        .collect();
    let members = population(3, &members);
    let (priors, labels, answers, _) = drawn(3, &members);
    let times = [2usize, 1, 3];
    let (mut truths, mut given) = (Vec::new(), Vec::new());
    for (class, answer, _) in &members {
        for _ in 0..times[*class] {
            truths.push(*class);
            given.push(*answer);
        }
    }
    let share = |class| truths.iter().filter(|&&y| y == class).count() as f64 / truths.len() as f64;
    let shares = Priors::new((0..3).map(share).collect()).unwrap();
    let truth = Confusion::new(ClassCount::THREE, &truths, &given).unwrap();
    let exact = UncertainPriors::exact(priors);
    let mut evidence = Evidence {
        target: &Target::Shares(shares),
        ..evidence(&exact, &labels)
    };
    let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
    let judged = PuJudgement::of(&evidence, &answers).unwrap();
    assert!(near(judged.accuracy.unwrap().value, truth.accuracy()));
    for class in 0..3 {
        let (rates, found) = (truth.rates(class), judged.classes[class].as_ref().unwrap());
        assert!(near(found.recall.unwrap().raw, rates.recall));
        assert!(near(found.precision.unwrap().raw, rates.precision));
        assert!(near(found.f1.unwrap().raw, rates.f1));
    }
    let (mean, rates) = (judged.mean.unwrap(), truth.macro_rates());
    assert!(near(mean.f1.raw, rates.f1) && near(mean.precision.raw, rates.precision));
    // Probabilities that are the truth say the same; all rows of the pool come in the order of members.
    let mut truths = members.iter().map(|member| member.0);
    let mut p = Vec::new();
    for label in &labels {
        let class = match label {
            Labeled(class) => *class,
            Unlabeled => truths.next().unwrap(),
        };
        p.extend((0..3).map(|y| f64::from(u8::from(y == class))));
    }
    evidence.probabilities = Some(&p);
    let both = PuJudgement::of(&evidence, &answers).unwrap();
    let value = both.accuracy.unwrap().value;
    // Half a row on either side moves it a little.
    assert!((value - truth.accuracy()).abs() < 0.01, "{value}");
}

/// If the pool's priors move, the shares of labelled rows and pool together move as they would be counted again.
#[test]
fn a_population_moves_with_its_pool() {
    let told = Priors::new(vec![0.2, 0.1, 0.7]).unwrap();
    let other = Priors::new(vec![0.3, 0.05, 0.65]).unwrap();
    let population = Target::Population(told.of_population(&[30, 50], 400).unwrap());
    let moved = population.moved(&told, &other).unwrap();
    let Target::Population(found) = moved else {
        panic!("a population stays one");
    };
    let wanted = other.of_population(&[30, 50], 400).unwrap();
    for (found, wanted) in found.as_slice().iter().zip(wanted.as_slice()) {
        assert!((found - wanted).abs() < 1e-12);
    }
    assert_eq!(Target::Pool.moved(&told, &other).unwrap(), Target::Pool);
}

#[test]
fn impossible_precision_is_clipped_and_kept() {
    let priors = Priors::new(vec![0.8, 0.2]).unwrap();
    let labels = [Labeled(0), Unlabeled, Unlabeled];
    let judgement = PuJudgement::new(&priors, &labels, &[0, 0, 1]).unwrap();
    let precision = judgement.classes[0].as_ref().unwrap().precision.unwrap();
    assert!((precision.raw - 1.6).abs() < 1e-12 && precision.value == 1.0);
    assert_eq!(
        (precision.state, precision.known()),
        (State::NotIdentified, None)
    );
}

#[test]
fn bad_input_is_refused() {
    let priors = Priors::new(vec![0.5, 0.5]).unwrap();
    let judge = |labels: &[MpuLabel], answers: &[usize]| PuJudgement::new(&priors, labels, answers);
    assert!(matches!(
        judge(&[Labeled(0)], &[0]),
        Err(Error::NoRows { .. })
    ));
    assert!(matches!(
        judge(&[Unlabeled], &[2]),
        Err(Error::Data(mpu_data::Error::ClassBeyond { .. }))
    ));
    assert!(judge(&[Unlabeled], &[0, 1]).is_err() && judge(&[Labeled(1)], &[0]).is_err());
    assert!(pu_auc(&priors, &[Unlabeled], &[0.0, f64::NAN]).is_err());
}

#[test]
fn precision_moves_with_its_prior() {
    let priors = Priors::new(vec![0.3, 0.5, 0.2]).unwrap();
    let labels = [Labeled(0), Labeled(1), Unlabeled, Unlabeled];
    let answers = [0, 1, 0, 2];
    let exact = UncertainPriors::exact(priors.clone());
    let all = sensitivity(&evidence(&exact, &labels), &answers).unwrap();
    assert_eq!(all.len(), 18);
    for case in &all {
        let class = case.judgement.classes[0].as_ref().unwrap();
        let precision = class.precision.unwrap().raw;
        assert!((precision - case.priors.as_slice()[0] / 0.5).abs() < 1e-12);
        let sum: f64 = case.priors.as_slice().iter().sum();
        assert!((sum - 1.0).abs() < 1e-9);
    }
    // 1.3 · 0.8 is more than there is: the shares stay, nothing is left for the negative class.
    let most = &all[5];
    assert_eq!(
        (most.varied, most.factor, most.priors.negative()),
        (Varied::All, 1.3, 0.0)
    );
    assert!((most.priors.as_slice()[0] - 0.375).abs() < 1e-12);
    // One class alone moves one prior, and the negative one.
    let one = all
        .iter()
        .find(|case| case.varied == Varied::Class(0))
        .unwrap();
    assert!((one.priors.as_slice()[0] - 0.21).abs() < 1e-12 && one.priors.as_slice()[1] == 0.5);
    assert!(Varied::Class(2).priors(&priors, 1.0).is_err());
    assert!(Varied::All.priors(&priors, f64::NAN).is_err());
}

/// 95 % intervals hold the truth, measured on a large sample, in about 95 of 100 samples.
#[test]
fn intervals_cover_the_truth() {
    let plane = Plane::new(&[0.3, 0.2, 0.5], 1.6);
    let answer = |x: [f64; 2]| mpu_data::top_class(&plane.posterior(x));
    let mut draws = Draws(21);
    let (_, points, truths) = plane.sample(0, 200_000, &mut draws);
    let given: Vec<usize> = points.iter().map(|&x| answer(x)).collect();
    let confusion = Confusion::new(ClassCount::THREE, &truths, &given).unwrap();
    let posteriors: Vec<f64> = points.iter().flat_map(|&x| plane.posterior(x)).collect();
    let areas = crate::auc::one_versus_rest(ClassCount::THREE, &truths, &posteriors).unwrap();
    let mut truth = Vec::new();
    for class in [0, 2] {
        let rates = confusion.rates(class);
        truth.extend([
            rates.recall,
            rates.precision,
            rates.f1,
            areas[class].unwrap(),
        ]);
    }
    let mean = confusion.macro_rates();
    truth.extend([mean.recall, mean.precision, mean.f1, confusion.accuracy()]);
    let mut covered = vec![0; truth.len()];
    let samples = 300;
    for _ in 0..samples {
        let (labels, points, _) = plane.sample(80, 400, &mut draws);
        let given: Vec<usize> = points.iter().map(|&x| answer(x)).collect();
        let judgement = PuJudgement::new(&plane.priors, &labels, &given).unwrap();
        let posteriors: Vec<f64> = points.iter().flat_map(|&x| plane.posterior(x)).collect();
        let areas = pu_auc(&plane.priors, &labels, &posteriors).unwrap();
        let mut found = Vec::new();
        for class in [0, 2] {
            let rates = judgement.classes[class].as_ref().unwrap();
            found.extend(
                [rates.recall, rates.precision, rates.f1, areas[class]].map(Option::unwrap),
            );
        }
        let mean = judgement.mean.unwrap();
        found.extend([
            mean.recall,
            mean.precision,
            mean.f1,
            judgement.accuracy.unwrap(),
        ]);
        for (at, found) in found.iter().enumerate() {
            covered[at] += i32::from(found.low <= truth[at] && truth[at] <= found.high);
        }
    }
    println!("{covered:?} of {samples}");
    // Three standard deviations of a count are 11.
    assert!(
        covered.iter().all(|c| (272..=298).contains(c)),
        "{covered:?}"
    );
}

#[test]
fn intervals_allow_for_another_draw_of_the_labelled_rows() {
    let priors = UncertainPriors::exact(Priors::new(vec![0.4, 0.6]).unwrap());
    // Of 10 or 1000 labelled rows eight tenths are found; 36 % of the pool are taken for the class.
    let halves = [10, 1000].map(|n_labeled| {
        let n_pool = 5000;
        let labels = [vec![Labeled(0); n_labeled], vec![Unlabeled; n_pool]].concat();
        let of_labeled = (0..n_labeled).map(|row| usize::from(row % 10 >= 8));
        let of_pool = (n_labeled..n_labeled + n_pool).map(|row| usize::from(row % 100 >= 36));
        let answers: Vec<usize> = of_labeled.chain(of_pool).collect();
        let tally = Tally::new(&evidence(&priors, &labels), &answers, 2).unwrap();
        let found = tally.combined(Rate::Right, &[0, 1], 1.0);
        let shown = tally.estimate(Rate::Right, &[0, 1], 1.0);
        let drawn = found.value * (1.0 - found.value) * 0.36 / n_labeled as f64;
        let half = 1.959_963_984_540_054 * (found.variance + drawn).sqrt();
        assert!((shown.value - found.value).abs() < 1e-12);
        let (low, high) = ((shown.value - half).max(0.0), (shown.value + half).min(1.0));
        assert!((shown.low - low).abs() < 1e-9, "{shown:?}");
        assert!((shown.high - high).abs() < 1e-9, "{shown:?}");
        half
    });
    assert!(halves[0] > 5.0 * halves[1], "{halves:?}");
}
