//! The arguments that say how probabilities become answers, the same wherever rows are answered.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// How probabilities become answers.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct DecisionArgs {
    /// The class shares among the rows to answer: population (labelled rows and pool together if they are one
    /// sample, else the pool), pool, uniform, estimate (from the rows, if they differ from the population by more
    /// than chance), or a share for each observed class, such as a=0.2,b=0.1.
    #[arg(long, value_name = "PRIORS", default_value = "population")]
    pub(crate) target_priors: TargetPriors,

    /// Choose the answer with the lowest expected cost: a CSV or TOML file of costs, true classes in rows, answers in columns.
    /// By default those that the model was trained with, if there are any.
    #[arg(long, value_name = "FILE", group = "decision")]
    pub(crate) cost_matrix: Option<PathBuf>,

    /// Answer the likeliest observed class only if it is at least this probable, otherwise `unknown`: 0.9, or a=0.9,b=0.8.
    #[arg(long, value_name = "P", group = "decision")]
    pub(crate) threshold: Option<PerClass>,

    /// Keep an answer only where the class has at least this precision, by the held-out rows of the run and
    /// with 95 % confidence, otherwise `unknown`: 0.95, or a=0.95,b=0.9.
    #[arg(long, value_name = "P", group = "decision")]
    pub(crate) precision_target: Option<PerClass>,
}

/// A text that is none of what is allowed.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Unreadable(String);

/// One number for all observed classes, or one for each.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum PerClass {
    /// The same for all.
    All(f64),
    /// By name.
    Each(Vec<(String, f64)>),
}

impl PerClass {
    /// The numbers in the order of `names`; `flag` is named in errors.
    pub(crate) fn of(&self, names: &[String], flag: &str) -> anyhow::Result<Vec<f64>> {
        let each = match self {
            Self::All(number) => return Ok(vec![*number; names.len()]),
            Self::Each(each) => each,
        };
        for (position, (name, _)) in each.iter().enumerate() {
            anyhow::ensure!(
                names.contains(name),
                "{flag} names `{name}`, which is not an observed class of the model; these are {}",
                names.join(", ")
            );
            anyhow::ensure!(
                !each[..position].iter().any(|(earlier, _)| earlier == name),
                "{flag} names `{name}` twice"
            );
        }
        let number = |name: &String| {
            let found = each.iter().find(|(class, _)| class == name);
            found.map(|(_, number)| *number).ok_or_else(|| {
                anyhow::anyhow!(
                    "{flag} says nothing of class `{name}`\nhint: give a number for each of {}",
                    names.join(", ")
                )
            })
        };
        names.iter().map(number).collect()
    }
}

impl FromStr for PerClass {
    type Err = Unreadable;

    fn from_str(text: &str) -> Result<Self, Unreadable> {
        if let Ok(number) = text.trim().parse() {
            return Ok(Self::All(number));
        }
        let one = |part: &str| {
            let (name, number) = part.rsplit_once('=')?;
            Some((name.trim().to_owned(), number.trim().parse().ok()?))
        };
        let each = text.split(',').map(|part| {
            one(part).ok_or_else(|| {
                Unreadable(format!(
                    "`{part}` is neither a number nor CLASS=NUMBER, such as dent=0.9"
                ))
            })
        });
        each.collect::<Result<_, _>>().map(Self::Each)
    }
}

/// Which class shares the rows to score have.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TargetPriors {
    /// Those of the population that was trained on: labelled rows and pool together if they are one sample, else
    /// the pool.
    Population,
    /// Those of the pool that was trained on.
    Pool,
    /// All classes alike.
    Uniform,
    /// Those that make the rows likeliest.
    Estimate,
    /// The user knows them.
    Given(PerClass),
}

impl TargetPriors {
    /// The one name used in flags and reports.
    pub(crate) fn slug(&self) -> &'static str {
        match self {
            Self::Population => "population",
            Self::Pool => "pool",
            Self::Uniform => "uniform",
            Self::Estimate => "estimate",
            Self::Given(_) => "given",
        }
    }
}

impl fmt::Display for TargetPriors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.slug())
    }
}

impl FromStr for TargetPriors {
    type Err = Unreadable;

    fn from_str(text: &str) -> Result<Self, Unreadable> {
        let named = [Self::Population, Self::Pool, Self::Uniform, Self::Estimate];
        if let Some(found) = named.into_iter().find(|one| one.slug() == text) {
            return Ok(found);
        }
        match text.parse() {
            Ok(each @ PerClass::Each(_)) => Ok(Self::Given(each)),
            _ => Err(Unreadable(format!(
                "`{text}` must be population, pool, uniform, estimate, or CLASS=SHARE for each observed class, such as dent=0.2,scratch=0.1"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predict_numbers_are_read_for_all_or_by_class() {
        let names = ["a=b".to_owned(), "c".to_owned()];
        let one: PerClass = "0.9".parse().unwrap();
        assert_eq!(one.of(&names, "--threshold").unwrap(), [0.9, 0.9]);
        let each: PerClass = "c=0.5, a=b=0.25".parse().unwrap();
        assert_eq!(each.of(&names, "--threshold").unwrap(), [0.25, 0.5]);
        for (text, told) in [
            ("c=0.5", "nothing of class `a=b`"),
            ("d=1,c=1", "`d`"),
            ("c=1,c=1,a=b=1", "twice"),
        ] {
            let each: PerClass = text.parse().unwrap();
            let error = each.of(&names, "--threshold").unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
        }
        assert!("high".parse::<PerClass>().is_err() && "c=x".parse::<PerClass>().is_err());
    }

    #[test]
    fn predict_priors_are_read() {
        for text in ["population", "pool", "uniform", "estimate"] {
            assert_eq!(text.parse::<TargetPriors>().unwrap().to_string(), text);
        }
        assert_eq!("a=0.2".parse::<TargetPriors>().unwrap().slug(), "given");
        for text in ["0.5", "flat", ""] {
            assert!(text.parse::<TargetPriors>().is_err(), "{text}");
        }
    }
}
