//! Margins of scores: how clear the answers are, by true class and by answer.
//!
//! ```
//! use mpu_data::ClassCount;
//! use mpu_eval::margins::Margins;
//!
//! let margins = Margins::new(ClassCount::new(2)?, &[0, 1], &[2.0, 0.5, 1.0, 0.0])?;
//! assert_eq!(margins.by_class, [Some(1.5), Some(-1.0)]);
//! assert_eq!(margins.by_answer, [[Some(1.5), None], [Some(1.0), None]]);
//! assert_eq!(margins.top, Some(1.25));
//! # Ok::<(), mpu_eval::Error>(())
//! ```

use mpu_data::{ClassCount, top_class};
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::held_out::{Block, check_truths};

/// Mean margins; `None` where there is no row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Margins {
    /// The mean of `f_y - max_{j≠y} f_j` over the rows of each true class `y`: below 0 where it loses.
    pub by_class: Vec<Option<f64>>,
    /// The mean top-label margin of each true class (outer) given each answer (inner).
    pub by_answer: Vec<Vec<Option<f64>>>,
    /// The mean top-label margin of all rows.
    pub top: Option<f64>,
}

impl Margins {
    /// Takes the true classes of rows and their scores, `k` to a row.
    pub fn new(classes: ClassCount, truths: &[usize], scores: &[f32]) -> Result<Self> {
        let k = classes.get();
        let rows = Block::Score.rows(classes, scores)?;
        check_truths(classes, truths, rows)?;
        let mut by_class = vec![Mean::default(); k];
        let mut by_answer = vec![vec![Mean::default(); k]; k];
        let mut top = Mean::default();
        for (row, &truth) in scores.chunks(k).zip(truths) {
            let row: Vec<f64> = row.iter().map(|&f| f64::from(f)).collect();
            let answer = top_class(&row);
            by_class[truth].add(margin(&row, truth));
            by_answer[truth][answer].add(margin(&row, answer));
            top.add(margin(&row, answer));
        }
        let means = |means: &[Mean]| means.iter().map(Mean::get).collect();
        Ok(Self {
            by_class: means(&by_class),
            by_answer: by_answer.iter().map(|row| means(row)).collect(),
            top: top.get(),
        })
    }
}

/// The mean margin `f_y - max_{j≠y} f_j` of the true class, by true class (outer) and answer (inner): below 0
/// where it loses, none where there is no row.
pub fn true_margins(
    classes: ClassCount,
    truths: &[usize],
    answers: &[usize],
    scores: &[f32],
) -> Result<Vec<Vec<Option<f64>>>> {
    let k = classes.get();
    let rows = Block::Score.rows(classes, scores)?;
    check_truths(classes, truths, rows)?;
    check_truths(classes, answers, rows)?;
    let mut means = vec![vec![Mean::default(); k]; k];
    for ((row, &truth), &answer) in scores.chunks(k).zip(truths).zip(answers) {
        let rivals = row.iter().enumerate().filter(|(class, _)| *class != truth);
        let rival = rivals.map(|(_, &f)| f).fold(f32::NEG_INFINITY, f32::max);
        // Taken in single precision, as stored records have it.
        means[truth][answer].add(f64::from(row[truth] - rival));
    }
    let get = |row: &Vec<Mean>| row.iter().map(Mean::get).collect();
    Ok(means.iter().map(get).collect())
}

/// The top-label margin of every row: the highest score less the second highest, never below 0.
pub fn top_margins(classes: ClassCount, scores: &[f32]) -> Result<Vec<f64>> {
    Block::Score.rows(classes, scores)?;
    let top = |row: &[f32]| {
        let row: Vec<f64> = row.iter().map(|&f| f64::from(f)).collect();
        margin(&row, top_class(&row))
    };
    Ok(scores.chunks(classes.get()).map(top).collect())
}

/// The margin of a class in one row.
///
/// ```text
/// f_y - max_{j≠y} f_j
/// ```
#[doc(alias = "eq:margin")]
fn margin(row: &[f64], class: usize) -> f64 {
    let others = row.iter().enumerate().filter(|(j, _)| *j != class);
    row[class] - others.map(|(_, f)| *f).fold(f64::NEG_INFINITY, f64::max)
}

#[derive(Debug, Clone, Copy, Default)]
struct Mean {
    sum: f64,
    count: u64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    fn get(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins_by_hand() {
        let scores = [3.0, 1.0, 2.0, 0.0, 1.0, -1.0, 0.0, 4.0, 4.0, 1.0, 0.0, 0.5];
        let m = Margins::new(ClassCount::THREE, &[0, 0, 2, 0], &scores).unwrap();
        // True margins of class 0: 1, -1, 0.5.
        assert!((m.by_class[0].unwrap() - 0.5 / 3.0).abs() < 1e-12);
        assert_eq!(m.by_class[1], None);
        assert_eq!(m.by_class[2], Some(0.0));
        // The tie goes to class 1 with margin 0.
        assert_eq!(m.by_answer[2], [None, Some(0.0), None]);
        assert_eq!(m.by_answer[0], [Some(0.75), Some(1.0), None]);
        let tops = top_margins(ClassCount::THREE, &scores).unwrap();
        assert_eq!(tops, [1.0, 1.0, 0.0, 0.5]);
        assert_eq!(m.top, Some(0.625));
        let true_margins = |truths, given| true_margins(ClassCount::THREE, truths, given, &scores);
        let found = true_margins(&[0, 0, 2, 0], &[0, 1, 1, 0]).unwrap();
        assert_eq!(found[0], [Some(0.75), Some(-1.0), None]);
        assert_eq!(found[1], [None; 3]);
        assert_eq!(found[2], [None, Some(0.0), None]);
        assert!(true_margins(&[0, 0, 2], &[0, 1, 1, 0]).is_err());
        assert!(true_margins(&[0, 0, 2, 0], &[0, 1, 1, 3]).is_err());
        assert!(Margins::new(ClassCount::THREE, &[3], &scores[..3]).is_err());
        assert!(top_margins(ClassCount::THREE, &scores[..4]).is_err());
    }
}
