//! Progress on standard error: a bar where a person looks, a plain line now and then where it goes to a file.

use std::borrow::Cow;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use mpu_data::source::progress::Progress;
use mpu_train::{Control, Event, Observer};

/// Says something on standard error. That it cannot be said stops no work: a full disk or a closed pipe is not the
/// user's answer.
pub(crate) fn say(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// How many threads this machine runs at once.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get)
}

/// Work that the user stopped: exit code 130.
#[derive(Debug, thiserror::Error)]
#[error("interrupted {0}")]
pub(crate) struct Interrupted(pub(crate) &'static str);

/// How long work may take to notice that it is to stop.
const GRACE: Duration = Duration::from_millis(800);

/// Whether work is to stop, and whether it has noticed.
#[derive(Debug)]
pub(crate) struct Interrupts {
    asked: AtomicBool,
    noticed: AtomicBool,
}

impl Interrupts {
    /// Whether work is to stop: those who ask do stop, and keep what is to be kept.
    pub(crate) fn asked(&self) -> bool {
        let asked = self.asked.load(Ordering::SeqCst);
        if asked {
            self.noticed.store(true, Ordering::SeqCst);
        }
        asked
    }

    /// The same, as an observer says it.
    pub(crate) fn control(&self) -> Control {
        if self.asked() {
            Control::Stop
        } else {
            Control::Continue
        }
    }

    /// Asks all work to stop.
    pub(crate) fn ask(&self) {
        self.asked.store(true, Ordering::SeqCst);
    }
}

/// Says once Ctrl-C was pressed or the system asked to end. Listens from the first call on.
///
/// Work that does not notice for a while is ended all the same. Nothing is lost by that: files are whole or not
/// there, and a run goes on from its last checkpoint.
pub(crate) fn interrupts() -> anyhow::Result<&'static Interrupts> {
    static INTERRUPTED: Interrupts = Interrupts {
        asked: AtomicBool::new(false),
        noticed: AtomicBool::new(false),
    };
    static LISTENING: OnceLock<Result<(), String>> = OnceLock::new();
    let listening = LISTENING.get_or_init(|| {
        let stop = || {
            INTERRUPTED.ask();
            std::thread::spawn(|| {
                std::thread::sleep(GRACE);
                if !INTERRUPTED.noticed.load(Ordering::SeqCst) {
                    say("error: interrupted\n");
                    std::process::exit(130);
                }
            });
        };
        ctrlc::set_handler(stop).map_err(|e| e.to_string())
    });
    if let Err(reason) = listening {
        anyhow::bail!("listening to Ctrl-C: {reason}");
    }
    Ok(&INTERRUPTED)
}

/// How long it is quiet between two plain lines.
const PAUSE: Duration = Duration::from_secs(10);

/// Progress of long work. On a terminal it is a bar; else it is a line every ten seconds, none if the work is done
/// before, and none with `--quiet`.
pub(crate) struct Bar {
    bar: ProgressBar,
    unit: String,
}

impl Bar {
    /// So many steps, with a message, a rate and the time left.
    pub(crate) fn new(length: u64, unit: &str) -> Self {
        let template = format!(
            "{{bar:30}} {{pos}}/{{len}} {unit}  {{msg}}  {{elapsed}} elapsed, {{eta}} to go"
        );
        Self::styled(ProgressBar::new(length), unit, &template)
    }

    /// Rows so far; how many there will be is not known at first.
    pub(crate) fn of_rows() -> Self {
        let template = "{spinner} {msg}: {human_pos} rows  {per_sec}  {elapsed}";
        Self::styled(ProgressBar::no_length(), "rows", template)
    }

    /// Nothing is shown.
    pub(crate) fn hidden() -> Self {
        Self {
            bar: ProgressBar::hidden(),
            unit: String::new(),
        }
    }

    fn styled(bar: ProgressBar, unit: &str, template: &str) -> Self {
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        let unit = unit.to_owned();
        Self { bar, unit }
    }

    /// Goes on by some steps.
    pub(crate) fn inc(&self, steps: u64) {
        self.bar.inc(steps);
        self.say();
    }

    /// Goes to a step.
    pub(crate) fn set_position(&self, step: u64) {
        self.bar.set_position(step);
    }

    /// How many steps there are, once it is known.
    pub(crate) fn set_length(&self, steps: u64) {
        self.bar.set_length(steps);
    }

    /// What is being done.
    pub(crate) fn set_message(&self, message: impl Into<Cow<'static, str>>) {
        self.bar.set_message(message);
    }

    /// Says something else in the meantime.
    pub(crate) fn suspend<T>(&self, say: impl FnOnce() -> T) -> T {
        self.bar.suspend(say)
    }

    /// The work is done.
    pub(crate) fn finish_and_clear(&self) {
        self.bar.finish_and_clear();
    }

    /// Writes a plain line if nobody sees the bar and none was written for a while.
    fn say(&self) {
        /// When the work began and when the last line was written; for all bars together.
        static SAID: Mutex<Option<(Instant, Instant)>> = Mutex::new(None);
        if self.unit.is_empty() || !self.bar.is_hidden() {
            return;
        }
        let Ok(mut said) = SAID.lock() else { return };
        let now = Instant::now();
        let (began, last) = said.get_or_insert((now, now));
        if now.duration_since(*last) < PAUSE {
            return;
        }
        *last = now;
        let seconds = now.duration_since(*began).as_secs();
        // `--quiet` hides it, as it hides warnings.
        if tracing::enabled!(tracing::Level::WARN) {
            say(&format!("{}, {seconds} s so far\n", self.line()));
        }
    }

    /// How far it is, in words.
    fn line(&self) -> String {
        let (at, message) = (self.bar.position(), self.bar.message());
        let far = match self.bar.length() {
            Some(all) if all > 0 => {
                let percent = 100 * at.min(all) / all;
                format!("{at} of {all} {} ({percent} %)", self.unit)
            }
            _ => format!("{at} {}", self.unit),
        };
        match message.as_str() {
            "" => far,
            message => format!("{message}: {far}"),
        }
    }
}

/// Draws the bar of the detectors behind estimated priors, and hears Ctrl-C.
pub(crate) struct Detectors {
    bar: Option<Bar>,
    interrupted: &'static Interrupts,
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
                let bar = Bar::new(steps as u64, "steps");
                bar.set_message("learning to tell labelled rows from the pool");
                bar
            });
            bar.inc(1);
            if step == steps {
                bar.finish_and_clear();
                self.bar = None;
            }
        }
        Ok(self.interrupted.control())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_lines_say_how_far_it_is() {
        let bar = Bar::new(200, "steps");
        bar.set_position(50);
        assert_eq!(bar.line(), "50 of 200 steps (25 %)");
        bar.set_message("epoch 3");
        assert_eq!(bar.line(), "epoch 3: 50 of 200 steps (25 %)");
        let rows = Bar::of_rows();
        rows.set_message("scoring");
        rows.inc(1200);
        assert_eq!(rows.line(), "scoring: 1200 rows");
    }
}
