//! Statistics of a batch normalisation, from parts of a batch.

use crate::kernels::rows::Backward;
use crate::norm::{EPS, MOMENTUM};

/// The state of one batch normalisation during a step.
///
/// Vectors called *wide* repeat the value of each channel `repeat` times over: once for a
/// perceptron, once per pixel of a row for images.
#[derive(Debug, Clone)]
pub(crate) struct Moments {
    repeat: usize,
    mean: Vec<f32>,
    inverse: Vec<f32>,
    /// Whether mean and variance are those of the batch.
    of_batch: bool,
    pub(crate) wide_mean: Vec<f32>,
    /// `y = scale · x + shift`, wide.
    pub(crate) scale: Vec<f32>,
    pub(crate) shift: Vec<f32>,
    /// `dx = a·dy + b·(x − mean) + c`, wide.
    a: Vec<f32>,
    b: Vec<f32>,
    c: Vec<f32>,
}

/// What a forward pass normalises with.
#[derive(Debug)]
pub(crate) enum Statistics<'a> {
    /// The batch's own; the running ones move.
    Batch(&'a mut [f32]),
    /// The running ones.
    Running(&'a [f32]),
}

/// Where the parameters of one normalisation lie in the blocks of trainable values and buffers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NormPlace {
    pub(crate) channels: usize,
    /// Scale (γ), and behind it shift (β).
    pub(crate) scale: usize,
    /// Running mean, and behind it running variance.
    pub(crate) running: usize,
}

/// Mean and summed squared deviation of some values.
#[derive(Debug, Clone, Copy, Default)]
struct MeanAndDeviation {
    count: f64,
    mean: f64,
    deviation: f64,
}

impl MeanAndDeviation {
    /// The summary of both samples together (Chan, Golub and LeVeque 1979).
    fn merge(self, other: Self) -> Self {
        let count = self.count + other.count;
        let gap = other.mean - self.mean;
        Self {
            count,
            mean: self.mean + gap * other.count / count,
            deviation: self.deviation
                + other.deviation
                + gap * gap * self.count * other.count / count,
        }
    }
}

impl Moments {
    pub(crate) fn new(channels: usize, repeat: usize) -> Self {
        let narrow = || vec![0.0; channels];
        let wide = || vec![0.0; channels * repeat];
        Self {
            repeat,
            mean: narrow(),
            inverse: narrow(),
            of_batch: false,
            wide_mean: wide(),
            scale: wide(),
            shift: wide(),
            a: wide(),
            b: wide(),
            c: wide(),
        }
    }

    /// Takes the statistics of a batch and moves the running ones; a batch with one value per
    /// channel takes the running ones and leaves them. `parts` gives for each part of the batch how many values per channel it has
    /// and its channel means followed by its summed squared deviations.
    pub(crate) fn settle<'a>(
        &mut self,
        place: NormPlace,
        trainable: &[f32],
        buffers: &mut [f32],
        parts: &(impl Iterator<Item = (usize, &'a [f32])> + Clone),
    ) {
        let count: usize = parts.clone().map(|(count, _)| count).sum();
        if count < 2 {
            self.recall(place, trainable, buffers);
            return;
        }
        let (means, vars) =
            buffers[place.running..][..2 * place.channels].split_at_mut(place.channels);
        for channel in 0..place.channels {
            let mut all = MeanAndDeviation::default();
            for (count, values) in parts.clone() {
                all = all.merge(MeanAndDeviation {
                    count: count as f64,
                    mean: values[channel] as f64,
                    deviation: values[place.channels + channel] as f64,
                });
            }
            let var = all.deviation / all.count;
            let unbiased = all.deviation / (all.count - 1.0);
            self.mean[channel] = all.mean as f32;
            self.inverse[channel] = (1.0 / (var + EPS).sqrt()) as f32;
            let move_to = |running: &mut f32, batch: f64| {
                *running = ((1.0 - MOMENTUM) * *running as f64 + MOMENTUM * batch) as f32;
            };
            move_to(&mut means[channel], all.mean);
            move_to(&mut vars[channel], unbiased);
        }
        self.of_batch = true;
        self.spread(place, trainable);
    }

    /// Takes the running statistics.
    pub(crate) fn recall(&mut self, place: NormPlace, trainable: &[f32], buffers: &[f32]) {
        let (means, vars) = buffers[place.running..][..2 * place.channels].split_at(place.channels);
        self.mean.copy_from_slice(means);
        for (inverse, &var) in self.inverse.iter_mut().zip(vars) {
            *inverse = (1.0 / (var as f64 + EPS).sqrt()) as f32;
        }
        self.of_batch = false;
        self.spread(place, trainable);
    }

    fn spread(&mut self, place: NormPlace, trainable: &[f32]) {
        let gammas = &trainable[place.scale..][..place.channels];
        let betas = &trainable[place.scale + place.channels..][..place.channels];
        for (i, column) in (0..self.repeat * place.channels).map(|i| (i, i % place.channels)) {
            self.wide_mean[i] = self.mean[column];
            self.scale[i] = gammas[column] * self.inverse[column];
            self.shift[i] = betas[column] - self.mean[column] * self.scale[i];
        }
    }

    /// The gradients of scale and shift, and what the pass back to the input multiplies by.
    /// `parts` gives for each part of the batch `Σ dy` per channel followed by `Σ dy (x − mean)`;
    /// `count` is how many values per channel they sum over.
    pub(crate) fn turn<'a>(
        &mut self,
        place: NormPlace,
        trainable: &[f32],
        gradient: &mut [f32],
        count: usize,
        parts: &(impl Iterator<Item = &'a [f32]> + Clone),
    ) {
        for channel in 0..place.channels {
            let (mut sum, mut product) = (0.0, 0.0);
            for values in parts.clone() {
                sum += values[channel] as f64;
                product += values[place.channels + channel] as f64;
            }
            let inverse = self.inverse[channel] as f64;
            let scale = trainable[place.scale + channel] as f64 * inverse;
            gradient[place.scale + channel] = (product * inverse) as f32;
            gradient[place.scale + place.channels + channel] = sum as f32;
            // Running statistics do not depend on the batch: nothing flows back through them.
            let share = if self.of_batch {
                1.0 / count as f64
            } else {
                0.0
            };
            self.a[channel] = scale as f32;
            self.b[channel] = (-scale * inverse * inverse * product * share) as f32;
            self.c[channel] = (-scale * sum * share) as f32;
        }
        for wide in [&mut self.a, &mut self.b, &mut self.c] {
            for i in place.channels..wide.len() {
                wide[i] = wide[i - place.channels];
            }
        }
    }

    /// The coefficients of the pass back, after [`Moments::turn`].
    pub(crate) fn backward(&self) -> Backward<'_> {
        Backward {
            mean: &self.wide_mean,
            a: &self.a,
            b: &self.b,
            c: &self.c,
        }
    }
}

/// Adds up the columns of each channel: `wide` repeats the channels.
pub(crate) fn fold(wide: &[f32], channels: &mut [f32]) {
    channels.fill(0.0);
    for pixel in wide.chunks_exact(channels.len()) {
        for (channel, value) in channels.iter_mut().zip(pixel) {
            *channel += value;
        }
    }
}
