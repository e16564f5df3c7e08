//! Work that Python waits for: without its lock, and stopped by Ctrl-C.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use mpu::train::{Control, Event, Observer};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::fault::{raised, spoken};

/// How often signals are looked for.
const LOOK: Duration = Duration::from_millis(50);

/// What is told while work goes on: a kind (`progress` or `warning`) and a text.
type Told = (&'static str, String);

/// Tells what happens, and stops when asked to.
pub(crate) struct Watch<'a> {
    stop: &'a AtomicBool,
    tell: Sender<Told>,
}

impl Watch<'_> {
    /// Tells something.
    pub(crate) fn warn(&self, text: &str) {
        // Who no longer listens does not want to know.
        let _ = self.tell.send(("warning", spoken(text)));
    }

    fn progress(&self, text: String) {
        let _ = self.tell.send(("progress", text));
    }
}

impl Observer for Watch<'_> {
    type Error = std::convert::Infallible;

    fn on(&mut self, event: &Event<'_>) -> Result<Control, Self::Error> {
        match event {
            Event::Detector { step, steps } if step == steps || *step == 1 => {
                self.progress(format!("telling labelled rows from the pool: step {step} of {steps}"));
            }
            Event::Started { epochs, n_rows, .. } => {
                self.progress(format!("training a network on {n_rows} rows for {epochs} epochs"));
            }
            Event::Epoch(metrics) => {
                self.progress(format!("epoch {}: loss {:.4}", metrics.epoch, metrics.loss));
            }
            Event::PriorsRaised { given, found } => self.warn(&format!(
                "the priors may be too low: they give {:.0} % of the pool to observed classes, the warm-up model finds {:.0} %; self-training uses the latter",
                100.0 * given,
                100.0 * found
            )),
            Event::FellBack { epoch, sign } => self.warn(&format!(
                "self-training failed: after epoch {epoch} {sign}; the warm-up model is used\nhint: check the scale of the features and the priors"
            )),
            _ => {}
        }
        Ok(if self.stop.load(Ordering::Relaxed) {
            Control::Stop
        } else {
            Control::Continue
        })
    }
}

/// Does work on threads of its own while this one waits without Python's lock and looks for signals.
///
/// The threads end with the work: a process that forks later has none that a child would miss.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    tell: &Bound<'_, PyAny>,
    work: impl FnOnce(&mut Watch<'_>) -> mpu::Result<T> + Send,
) -> PyResult<T> {
    let stop = AtomicBool::new(false);
    let (sender, mut receiver) = channel();
    let stop = &stop;
    std::thread::scope(|scope| {
        let worker = scope.spawn(move || {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0));
            let pool = pool.build().map_err(|error| error.to_string())?;
            let mut watch = Watch { stop, tell: sender };
            Ok::<_, String>(pool.install(|| work(&mut watch)))
        });
        let heard = listen(py, &mut receiver, tell, stop);
        let done = py.detach(|| worker.join());
        heard?;
        match done {
            Ok(Ok(result)) => result.map_err(raised),
            Ok(Err(error)) => Err(PyRuntimeError::new_err(format!(
                "starting threads: {error}"
            ))),
            Err(_) => Err(PyRuntimeError::new_err(
                "the native code failed; please report this",
            )),
        }
    })
}

/// Hands on what is told until the work is over. The first exception, Ctrl-C for one, stops the work.
fn listen(
    py: Python<'_>,
    receiver: &mut Receiver<Told>,
    tell: &Bound<'_, PyAny>,
    stop: &AtomicBool,
) -> PyResult<()> {
    let mut fault = Ok(());
    loop {
        let heard = py.detach(|| {
            let receiver = &mut *receiver;
            receiver.recv_timeout(LOOK)
        });
        let handed_on = match heard {
            Ok((kind, text)) if fault.is_ok() => tell.call1((kind, text)).map(|_| ()),
            Ok(_) => Ok(()),
            Err(RecvTimeoutError::Timeout) => py.check_signals(),
            Err(RecvTimeoutError::Disconnected) => return fault,
        };
        if handed_on.is_err() && fault.is_ok() {
            stop.store(true, Ordering::Relaxed);
            fault = handed_on;
        }
    }
}
