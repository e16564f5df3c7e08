//! The student: a forest of classes, from labels and the targets of the pool.

use std::sync::Arc;

use mpu_data::split::draw::shuffle;
use mpu_data::{MpuLabel, Priors, Seed, Stream};
use mpu_models::forest::{Forest, ForestSpec, Sample};

use super::choice::Leaves;
use super::teacher::{Ground, TREE_ROWS, Teacher, smoothed};
use crate::error::{Result, ensure};
use crate::prepared::Watcher;

/// Parts that rows are cut into, each scored by forests that have not seen it.
const FOLDS: u8 = 5;
/// From so many rows on, the part that no network sees is enough.
const MANY_ROWS: usize = 10_000;

/// A forest of classes, and scores of rows by forests like it.
#[derive(Debug, Clone)]
pub struct Student {
    /// The forest, grown from all rows.
    pub forest: Arc<Forest>,
    /// How small its leaves are, if that was chosen.
    pub leaves: Option<Leaves>,
    /// One like it that was grown without the rows held out, and taught without them.
    pub apart: Arc<Forest>,
    /// Rows that were scored by another teacher and student, neither of which has seen them.
    pub scored: Vec<usize>,
    /// What is known of these rows.
    pub labels: Vec<MpuLabel>,
    /// [`log_probabilities`] of these rows.
    pub scores: Vec<f32>,
    /// For a network beside it: what each row is learned as, `k` shares, by a teacher that has not seen those held
    /// out.
    pub lessons: Vec<f32>,
}

impl Student {
    /// Grows the forest from labels and targets, and scores rows: those of `held`, and the others too if there are not
    /// many. By these scores it is chosen whether leaves may have one row.
    ///
    /// `priors` are those that may be true, the likeliest first.
    ///
    /// Trees that have not seen a row are not enough to score it: its label has raised the targets of the rows
    /// beside it, and by these the student knows it. So a part of the rows is taken from teacher and student alike.
    pub fn fit(
        teacher: Teacher,
        held: &[usize],
        priors: &[Priors],
        spec: ForestSpec,
        seed: Seed,
        observer: &mut impl Watcher,
    ) -> Result<Self> {
        let _span = tracing::info_span!("student").entered();
        ensure!(
            !priors.is_empty(),
            "no priors were given: the likeliest are needed"
        );
        let Teacher { ground, answers } = teacher;
        let ground = &ground;
        let k = ground.classes.get();
        let n_rows = ground.labels.len();
        let folds = folds(&ground.labels, k, held, seed);
        let n_folds = if n_rows > MANY_ROWS { 1 } else { FOLDS };
        let scored: Vec<usize> = (0..n_rows).filter(|&row| folds[row] < n_folds).collect();
        let labels: Vec<MpuLabel> = scored.iter().map(|&row| ground.labels[row]).collect();
        // With many rows leaves of three are small enough, and trees of all rows too large.
        let fine = (n_rows <= TREE_ROWS).then_some(ForestSpec {
            min_leaf: 1.0,
            sample: Sample::Every,
            ..spec
        });
        let mut grown: Vec<Scored> = [Some(spec), fine]
            .into_iter()
            .flatten()
            .map(|spec| Scored::new(spec, scored.len() * k))
            .collect();
        let mut lessons = Vec::new();
        for fold in 0..n_folds {
            let seen = |row: usize| folds[row] != fold;
            let seed_of_fold = derived(seed, 2);
            let answers = ground.teach(seen, spec, seed_of_fold, observer)?;
            let shares = ground.posteriors(answers, priors, seen, spec, seed_of_fold, observer)?;
            let shares = targets(ground, shares);
            let unseen: Vec<usize> = (0..n_rows).filter(|&row| !seen(row)).collect();
            for grown in &mut grown {
                let forest = ground.grow(&shares, seen, grown.spec, derived(seed, 3), observer)?;
                grown.score(ground, forest, &scored, &unseen)?;
            }
            // The rows held out are the first part.
            if fold == 0 {
                lessons = shares;
            }
        }
        let leaves = match grown.as_slice() {
            [coarse, fine] => Some(Leaves::new(
                &priors[0],
                &labels,
                &coarse.scores,
                &fine.scores,
            )?),
            _ => None,
        };
        let which = usize::from(leaves.is_some_and(|leaves| leaves.fine));
        let Scored {
            spec: chosen,
            apart,
            scores,
        } = grown.swap_remove(which);
        drop(grown);
        let all = |_| true;
        let shares = ground.posteriors(answers, priors, all, spec, seed, observer)?;
        let shares = targets(ground, shares);
        let forest = Arc::new(ground.grow(&shares, all, chosen, derived(seed, 1), observer)?);
        Ok(Self {
            apart: apart.map_or_else(|| forest.clone(), Arc::new),
            forest,
            leaves,
            scored,
            labels,
            scores,
            lessons,
        })
    }
}

/// Forests of one kind, and what they answered to rows that they have not seen.
struct Scored {
    spec: ForestSpec,
    /// The first of them.
    apart: Option<Forest>,
    scores: Vec<f32>,
}

impl Scored {
    fn new(spec: ForestSpec, n_scores: usize) -> Self {
        Self {
            spec,
            apart: None,
            scores: vec![0.0; n_scores],
        }
    }

    /// Scores rows, some of those that are `scored` in all, by a forest that has not seen them.
    fn score(
        &mut self,
        ground: &Ground,
        forest: Forest,
        scored: &[usize],
        unseen: &[usize],
    ) -> Result<()> {
        let k = ground.classes.get();
        let found = forest.probabilities_of(&ground.rows, unseen)?;
        let found = log_probabilities(&found, k, self.spec.trees);
        for (row, found) in unseen.iter().zip(found.chunks_exact(k)) {
            let place = scored.partition_point(|scored| scored < row);
            self.scores[place * k..][..k].copy_from_slice(found);
        }
        self.apart.get_or_insert(forest);
        Ok(())
    }
}

/// The part of each row: 0 for those held out, the others dealt out at random.
fn folds(labels: &[MpuLabel], k: usize, held: &[usize], seed: Seed) -> Vec<u8> {
    let n_rows = labels.len();
    let mut folds = vec![u8::MAX; n_rows];
    for &row in held {
        folds[row] = 0;
    }
    let mut others: Vec<usize> = (0..n_rows).filter(|&row| folds[row] != 0).collect();
    shuffle(&mut others, &mut seed.stream_at(Stream::Split, 3));
    // Every part gets its share of every group.
    others.sort_by_key(|&row| group(labels[row], k));
    for (row, part) in others.into_iter().zip((1..FOLDS).cycle()) {
        folds[row] = part;
    }
    folds
}

/// Another seed for another forest.
pub(super) fn derived(seed: Seed, which: u64) -> Seed {
    Seed(
        seed.0
            .wrapping_add(which.wrapping_mul(0x9E37_79B9_7F4A_7C15)),
    )
}

/// What the student learns of each row: its label, or how probable each class is.
fn targets(ground: &Ground, mut posteriors: Vec<f32>) -> Vec<f32> {
    let rows = posteriors.chunks_exact_mut(ground.classes.get());
    for (shares, &label) in rows.zip(&ground.labels) {
        if let MpuLabel::Labeled(class) = label {
            shares.fill(0.0);
            shares[class] = 1.0;
        }
    }
    posteriors
}

pub(super) fn group(label: MpuLabel, k: usize) -> usize {
    match label {
        MpuLabel::Labeled(class) => class,
        MpuLabel::Unlabeled => k - 1,
    }
}

/// The target of a row of the pool: how probable each class is, by what the teacher answers and the sizes `n` of the
/// groups that it was taught with.
///
/// ```text
/// t_i(x) = π_i r_i(x) / max(1, Σ_j π_j r_j(x)),   r_i = (P(s=i|x)/n_i) / (P(s=u|x)/n_u)
/// ```
///
/// `r_i` is the density of class `i` beside that of the pool. What is left of each row is the class that was not
/// observed. The means of the targets are not made to agree with the priors: where these are too high, rows that are
/// surely of a class cannot be more than that, and the targets stay below.
#[doc(alias = "eq:pool-target")]
pub fn pool_target(priors: &Priors, n: &[f64], answer: &[f32]) -> Vec<f64> {
    let k = n.len();
    let pool = f64::from(answer[k - 1]) / n[k - 1];
    let ratio = |class: usize| f64::from(answer[class]) / n[class].max(1.0) / pool;
    let mut target: Vec<f64> = (0..k - 1)
        .map(|class| priors.as_slice()[class] * ratio(class))
        .collect();
    let sum: f64 = target.iter().sum();
    for share in &mut target {
        *share /= sum.max(1.0);
    }
    target.push((1.0 - sum).max(0.0));
    target
}

/// Logarithms of shares that trees voted for, with half a vote for each class, so that all are finite.
pub fn log_probabilities(shares: &[f32], k: usize, trees: usize) -> Vec<f32> {
    smoothed(shares, k, trees).map(|p| p.ln() as f32).collect()
}

#[cfg(test)]
mod tests {
    use mpu_data::ClassCount;
    use mpu_models::forest::{Bins, Layout};
    use mpu_train::Unobserved;

    use super::super::testing::uniform;
    use super::*;

    #[test]
    fn targets_of_a_known_mixture_are_its_posteriors() {
        // Three points; the classes' shares of each, of a pool with priors 0.3, 0.2, 0.5.
        let density = [[0.7, 0.2, 0.1], [0.1, 0.5, 0.4], [0.05, 0.15, 0.8]];
        let pi = [0.3, 0.2, 0.5];
        let priors = Priors::new(pi.to_vec()).unwrap();
        let n = [40.0, 90.0, 1000.0];
        for x in 0..3 {
            let pool: f64 = (0..3).map(|class| pi[class] * density[class][x]).sum();
            let groups = [n[0] * density[0][x], n[1] * density[1][x], n[2] * pool];
            let sum: f64 = groups.iter().sum();
            let answer: Vec<f32> = groups.iter().map(|g| (g / sum) as f32).collect();
            let found = pool_target(&priors, &n, &answer);
            for class in 0..3 {
                let wanted = pi[class] * density[class][x] / pool;
                assert!((found[class] - wanted).abs() < 1e-6, "{found:?} {wanted}");
            }
        }
    }

    #[test]
    fn targets_by_hand() {
        let priors = Priors::new(vec![0.5, 0.5]).unwrap();
        // r = (0.4/10) / (0.6/60) = 4, π r = 2: surely of the class.
        let sure = pool_target(&priors, &[10.0, 60.0], &[0.4, 0.6]);
        assert!(
            (sure[0] - 1.0).abs() < 1e-7 && sure[1].abs() < 1e-7,
            "{sure:?}"
        );
        // r = (0.1/10) / (0.9/60) = 2/3.
        let half = pool_target(&priors, &[10.0, 60.0], &[0.1, 0.9]);
        assert!((half[0] - 1.0 / 3.0).abs() < 1e-7, "{half:?}");
        // A class without labelled rows is found nowhere.
        let none = pool_target(&priors, &[0.0, 60.0], &[0.0, 1.0]);
        assert_eq!(none, [0.0, 1.0]);
    }

    #[test]
    fn rows_held_out_are_one_part_and_every_part_has_every_group() {
        let labels: Vec<MpuLabel> = (0..200)
            .map(|row| match row % 10 {
                0 => MpuLabel::Labeled(0),
                1 => MpuLabel::Labeled(1),
                _ => MpuLabel::Unlabeled,
            })
            .collect();
        let held: Vec<usize> = (0..40).collect();
        let folds = folds(&labels, 3, &held, Seed(7));
        assert!(held.iter().all(|&row| folds[row] == 0));
        for fold in 0..FOLDS {
            for wanted in [MpuLabel::Labeled(0), MpuLabel::Labeled(1)] {
                let of = |row: &usize| folds[*row] == fold && labels[*row] == wanted;
                assert_eq!((0..200).filter(of).count(), 4, "part {fold}");
            }
        }
    }

    /// Half of a class is labelled, by two of four columns: a checkerboard, in which some rows are moved to a cell beside it.
    fn checkerboard(moved: f32) -> Teacher {
        let mut uniform = uniform(5);
        let (mut features, mut labels) = (Vec::new(), Vec::new());
        for _ in 0..800 {
            let row = [uniform(), uniform(), uniform(), uniform()];
            let of_class = ((4.0 * row[0]) as u8 + (4.0 * row[1]) as u8).is_multiple_of(2);
            let of_class = of_class != (uniform() < moved);
            features.extend(row);
            labels.push(if of_class && uniform() < 0.5 {
                MpuLabel::Labeled(0)
            } else {
                MpuLabel::Unlabeled
            });
        }
        let bins = Bins::learn(Layout::numeric(4).unwrap(), &features).unwrap();
        let ground = Ground {
            rows: bins.encode(&features).unwrap(),
            bins,
            labels,
            classes: ClassCount::new(2).unwrap(),
        };
        Teacher::fit(ground, ForestSpec::default(), Seed(3), &mut Unobserved).unwrap()
    }

    #[test]
    fn leaves_are_fine_where_borders_are_sharp_and_coarse_where_classes_overlap() {
        let priors = [Priors::new(vec![1.0 / 3.0, 2.0 / 3.0]).unwrap()];
        let held: Vec<usize> = (0..160).collect();
        let spec = ForestSpec::default();
        let fit = |moved: f32| {
            let teacher = checkerboard(moved);
            Student::fit(teacher, &held, &priors, spec, Seed(3), &mut Unobserved).unwrap()
        };
        let (sharp, blurred) = (fit(0.0), fit(0.4));
        for (student, fine) in [(sharp, true), (blurred, false)] {
            let leaves = student.leaves.unwrap();
            assert_eq!(leaves.fine, fine, "{leaves:?}");
            assert_eq!(leaves.rows, 800);
            let wanted = if fine { 1.0 } else { 3.0 };
            assert_eq!(student.forest.spec().min_leaf, wanted);
            assert_eq!(student.apart.spec(), student.forest.spec());
            assert_eq!(student.scores.len(), 1600);
        }
    }

    #[test]
    fn logarithms_are_finite_and_keep_the_order() {
        let logs = log_probabilities(&[1.0, 0.0, 0.0, 0.25, 0.5, 0.25], 3, 100);
        assert!(logs.iter().all(|log| log.is_finite()));
        assert!((f64::from(logs[0]) - (100.5_f64 / 101.5).ln()).abs() < 1e-6);
        assert!(logs[4] > logs[3] && logs[1] < logs[3]);
    }
}
