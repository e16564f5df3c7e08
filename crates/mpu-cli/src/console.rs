//! Progress on standard error, drawn only where a person looks.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use mpu_data::source::progress::Progress;
use mpu_train::{Control, Event, Observer};

/// Work that the user stopped: exit code 130.
#[derive(Debug, thiserror::Error)]
#[error("interrupted {0}")]
pub(crate) struct Interrupted(pub(crate) &'static str);

/// True once Ctrl-C was pressed or the system asked to end. Listens from the first call on.
pub(crate) fn interrupts() -> anyhow::Result<&'static AtomicBool> {
    static INTERRUPTED: AtomicBool = AtomicBool::new(false);
    static LISTENING: OnceLock<Result<(), String>> = OnceLock::new();
    let listening = LISTENING.get_or_init(|| {
        ctrlc::set_handler(|| INTERRUPTED.store(true, Ordering::SeqCst)).map_err(|e| e.to_string())
    });
    if let Err(reason) = listening {
        anyhow::bail!("listening to Ctrl-C: {reason}");
    }
    Ok(&INTERRUPTED)
}

/// A bar of steps with a message, a rate and the time left.
pub(crate) fn bar(length: u64, unit: &str) -> ProgressBar {
    let bar = ProgressBar::new(length);
    let template =
        format!("{{bar:30}} {{pos}}/{{len}} {unit}  {{msg}}  {{elapsed}} elapsed, {{eta}} to go");
    if let Ok(style) = ProgressStyle::with_template(&template) {
        bar.set_style(style);
    }
    bar
}

/// Draws the bar of the detectors behind estimated priors, and hears Ctrl-C.
pub(crate) struct Detectors {
    bar: Option<ProgressBar>,
    interrupted: &'static AtomicBool,
}

impl Detectors {
    pub(crate) fn new() -> anyhow::Result<Self> {
        Ok(Self {
            bar: None,
            interrupted: interrupts()?,
        })
    }
}

impl Observer for Detectors {
    type Error = anyhow::Error;

    fn on(&mut self, event: &Event<'_>) -> anyhow::Result<Control> {
        if let Event::Detector { step, steps } = *event {
            let bar = self.bar.get_or_insert_with(|| {
                let bar = bar(steps as u64, "steps");
                bar.set_message("learning to tell labelled rows from the pool");
                bar
            });
            bar.inc(1);
            if step == steps {
                bar.finish_and_clear();
                self.bar = None;
            }
        }
        Ok(if self.interrupted.load(Ordering::SeqCst) {
            Control::Stop
        } else {
            Control::Continue
        })
    }
}

/// Downloads as bars.
#[derive(Default)]
pub(crate) struct Downloads {
    bar: Mutex<Option<ProgressBar>>,
}

impl Downloads {
    fn with(&self, action: impl FnOnce(&ProgressBar)) {
        if let Ok(bar) = self.bar.lock()
            && let Some(bar) = bar.as_ref()
        {
            action(bar);
        }
    }
}

impl Progress for Downloads {
    fn started(&self, file: &str, done: u64, total: Option<u64>) {
        let bar = match total {
            Some(total) => ProgressBar::new(total),
            None => ProgressBar::new_spinner(),
        };
        let template = "{bar:30} {bytes}/{total_bytes} {bytes_per_sec}  {msg}  {eta} to go";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(file.to_owned());
        bar.set_position(done);
        if let Ok(mut place) = self.bar.lock() {
            *place = Some(bar);
        }
    }

    fn advanced(&self, _: &str, done: u64) {
        self.with(|bar| bar.set_position(done));
    }

    fn retrying(&self, file: &str, attempt: u32, reason: &str, pause: Duration) {
        tracing::warn!("{file}: attempt {attempt} failed ({reason}); trying again in {pause:?}");
    }

    fn waiting(&self, file: &str) {
        tracing::warn!("{file}: another process is downloading it; waiting");
    }

    fn source_failed(&self, source: &str, reason: &str) {
        tracing::warn!("{source} failed ({reason}); trying the next source");
    }

    fn finished(&self, _: &str) {
        self.with(ProgressBar::finish_and_clear);
    }
}
