//! Families of tries, how many are made, and what came of them.

use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use libtest_mimic::{Arguments, Trial};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// One try in an empty folder: nothing, or what went wrong.
type Attack = fn(&mut Draw, &Path) -> Result<(), String>;

/// A kind of attack.
pub(crate) struct Family {
    name: &'static str,
    /// Tries for each one of the budget.
    share: usize,
    /// Tries at the same time.
    at_once: usize,
    attack: Attack,
}

impl Family {
    pub(crate) fn new(name: &'static str, share: usize, at_once: usize, attack: Attack) -> Self {
        Self {
            name,
            share,
            at_once,
            attack,
        }
    }

    /// Makes all tries; what went wrong in which.
    fn tries(&self, n_tries: usize, seed: u64) -> Vec<String> {
        let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let work = || {
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                if i >= n_tries {
                    return;
                }
                let folder = tempfile::tempdir().unwrap();
                let mut draw = Draw::new(seed, self.name, i);
                if let Err(what) = (self.attack)(&mut draw, folder.path()) {
                    let told = format!("{}, seed {seed}, try {i}: {what}", self.name);
                    failed.lock().unwrap().push(told);
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..self.at_once {
                scope.spawn(work);
            }
        });
        failed.into_inner().unwrap()
    }
}

/// What a try draws from.
pub(crate) struct Draw(ChaCha8Rng);

impl Draw {
    fn new(seed: u64, family: &str, index: usize) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..16].copy_from_slice(&(index as u64).to_le_bytes());
        for (to, from) in key[16..].iter_mut().zip(family.bytes()) {
            *to = from;
        }
        Self(ChaCha8Rng::from_seed(key))
    }

    /// A number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.0.next_u64() % n.max(1) as u64) as usize
    }

    pub(crate) fn byte(&mut self) -> u8 {
        self.0.next_u64() as u8
    }

    /// One of some things.
    pub(crate) fn of<'a, T>(&mut self, things: &'a [T]) -> &'a T {
        &things[self.below(things.len())]
    }
}

fn number<T: std::str::FromStr>(name: &str, default: T) -> T {
    let text = std::env::var(name).unwrap_or_default();
    if text.is_empty() {
        return default;
    }
    let wrong = |_| panic!("{name} is `{text}`: it must be a whole number");
    text.parse().unwrap_or_else(wrong)
}

/// Makes the tries of all families and says how many there were and how many failed.
pub(crate) fn run<const N: usize>(families: [Family; N]) -> ExitCode {
    let budget: usize = number("MPU_ATTACK_TRIES", 6);
    let seed = number("MPU_ATTACK_SEED", 1);
    let summary = Arc::new(Mutex::new(Vec::new()));
    let trial = |family: Family| {
        let summary = Arc::clone(&summary);
        Trial::test(family.name, move || {
            let n_tries = budget * family.share;
            let failed = family.tries(n_tries, seed);
            let line = format!("{}: {n_tries} tries, {} failed", family.name, failed.len());
            summary.lock().unwrap().push(line);
            if failed.is_empty() {
                return Ok(());
            }
            Err(failed.join("\n\n").into())
        })
    };
    let trials = families.map(trial).into_iter().collect();
    let conclusion = libtest_mimic::run(&Arguments::from_args(), trials);
    for line in summary.lock().unwrap().iter() {
        println!("attack, seed {seed}: {line}");
    }
    conclusion.exit_code()
}
