//! A whole training step of a perceptron in reused buffers.
//!
//! Values lie unit by unit, not row by row, in panels of rows of the batch ([`kernels::panels`](crate::kernels::panels)). The work is cut into blocks
//! of [`BLOCK`] units with all rows of the batch. So whoever has multiplied a block adds the bias, cuts at zero, takes the
//! statistics and normalises while it is still in the cache, and what comes out is what the next product reads. The threads meet once for each layer and
//! direction.

use std::ops::Range;

use super::crew::{Crew, Task};
use super::moments::{NormPlace, Statistics};
use crate::dropout::Dropout;
use crate::kernels::isa::Isa;
use crate::kernels::panels::{self, BLOCK, LeftOut, Unit};
use crate::kernels::rows;
use crate::kernels::tile::{Order, Place, Product, WIDEST};
use crate::norm::MOMENTUM;
use crate::spec::MlpSpec;
use crate::threads::Threads;

/// Multiplications that take as long as moving a number, about.
const MOVED: usize = 32;

/// One linear layer and where its parameters lie.
#[derive(Debug, Clone, Copy)]
struct LinearPlace {
    inputs: usize,
    outputs: usize,
    /// Weights, and behind them biases.
    weight: usize,
}

impl LinearPlace {
    fn weight_range(self) -> Range<usize> {
        self.weight..self.weight + self.inputs * self.outputs
    }

    fn bias_range(self) -> Range<usize> {
        let first = self.weight_range().end;
        first..first + self.outputs
    }
}

#[derive(Debug)]
struct Hidden {
    linear: LinearPlace,
    norm: NormPlace,
    units: Vec<Unit>,
    /// Whether mean and variance are those of the batch.
    of_batch: bool,
    /// After ReLU, and after normalisation, in panels.
    active: Vec<f32>,
    normal: Vec<f32>,
    /// The latter with rows and units exchanged: panels of units, a line for each row.
    turned: Vec<f32>,
}

/// The buffers of a perceptron.
#[derive(Debug)]
pub(super) struct MlpWorkspace {
    hidden: Vec<Hidden>,
    head: LinearPlace,
    isa: Isa,
    threads: Threads,
    /// The batch in panels of rows, and in panels of columns.
    input: Vec<f32>,
    turned_input: Vec<f32>,
    /// Scores, in panels.
    scores: Vec<f32>,
    /// Gradients of two neighbouring layers, in panels.
    slope: Vec<f32>,
    next_slope: Vec<f32>,
    /// What the last forward pass left out.
    dropout: Option<Dropout>,
}

impl LinearPlace {
    /// `out ← weight · input` for some rows of the weights, by blocks of `out`.
    fn forward<'a>(
        self,
        isa: Isa,
        trainable: &'a [f32],
        input: &'a [f32],
        n_panels: usize,
        out: &'a mut [f32],
    ) -> impl Iterator<Item = Product<'a>> {
        let weights = trainable[self.weight_range()].chunks(BLOCK * self.inputs);
        let places = Place::blocks(isa, out, self.outputs, n_panels, BLOCK);
        weights.zip(places).map(move |(weight, out)| Product {
            rows: weight.len() / self.inputs,
            depth: self.inputs,
            a: weight,
            order: Order::Rows(self.inputs),
            b: input,
            columns: n_panels * isa.panel(),
            out,
        })
    }
}

impl MlpWorkspace {
    pub(super) fn new(spec: &MlpSpec, max_rows: usize, isa: Isa, threads: Threads) -> Self {
        let padded = max_rows.next_multiple_of(isa.panel());
        let panels = |units: usize| vec![0.0; units * padded];
        let turned = |units: usize| vec![0.0; units.next_multiple_of(isa.panel()) * padded];
        let (mut inputs, mut trainable, mut buffer) = (spec.inputs, 0, 0);
        let mut hidden = Vec::new();
        for &outputs in &spec.hidden {
            let linear = LinearPlace {
                inputs,
                outputs,
                weight: trainable,
            };
            let scale = linear.bias_range().end;
            hidden.push(Hidden {
                linear,
                norm: NormPlace {
                    channels: outputs,
                    scale,
                    running: buffer,
                },
                units: vec![Unit::default(); outputs],
                of_batch: false,
                active: panels(outputs),
                normal: panels(outputs),
                turned: turned(outputs),
            });
            (trainable, buffer, inputs) = (scale + 2 * outputs, buffer + 2 * outputs, outputs);
        }
        let head = LinearPlace {
            inputs,
            outputs: spec.outputs,
            weight: trainable,
        };
        let widest = spec.hidden.iter().copied().max().unwrap_or(0);
        let widest = widest.max(spec.outputs);
        Self {
            hidden,
            head,
            isa,
            threads,
            input: panels(spec.inputs),
            turned_input: turned(spec.inputs),
            scores: panels(spec.outputs),
            slope: panels(widest),
            next_slope: panels(widest),
            dropout: None,
        }
    }

    /// Numbers of a row.
    fn inputs(&self) -> usize {
        let first = self.hidden.first().map(|first| first.linear);
        first.unwrap_or(self.head).inputs
    }

    /// Takes `n` rows from where they are, in panels of columns.
    pub(super) fn gather<'r>(&mut self, n: usize, rows: impl Fn(usize) -> &'r [f32] + Sync) {
        let (inputs, width) = (self.inputs(), self.isa.panel());
        let outs = self
            .turned_input
            .chunks_mut(n.next_multiple_of(width) * width);
        let copy = |row: usize, columns: Range<usize>, place: &mut [f32]| {
            let from = &rows(row)[columns];
            // A copy of known length needs no call.
            match (place.as_mut_array::<WIDEST>(), from.as_array::<WIDEST>()) {
                (Some(place), Some(from)) => *place = *from,
                _ => place.copy_from_slice(from),
            }
        };
        let firsts = (0..inputs).step_by(width);
        let tasks = outs.zip(firsts).map(|(out, first)| Task::Gather {
            copy: &copy,
            columns: first..inputs.min(first + width),
            out,
        });
        Crew::new(self.isa, self.threads, MOVED * n * inputs).work(inputs, n, tasks);
    }

    /// The batch in panels of rows: of these rows, or of those that were gathered.
    fn pack(&mut self, n: usize, x: Option<&[f32]>) {
        let (inputs, width) = (self.inputs(), self.isa.panel());
        let (lines, outs) = (&self.turned_input, self.input.chunks_mut(width * inputs));
        let crew = Crew::new(self.isa, self.threads, MOVED * n * inputs);
        if let Some(x) = x {
            let packs = x.chunks(width * inputs).zip(outs);
            let packs = packs.map(|(rows, out)| Task::Pack { rows, out });
            return crew.work(inputs, n, packs);
        }
        let outs = outs.take(n.div_ceil(width)).enumerate();
        let packs = outs.map(|(panel, out)| Task::PackLines { lines, panel, out });
        crew.work(inputs, n, packs);
    }

    /// Scores of some rows, or of those that were gathered, remembering what [`MlpWorkspace::backward`] needs in training.
    pub(super) fn forward(
        &mut self,
        trainable: &[f32],
        mut statistics: Statistics<'_>,
        dropout: Option<Dropout>,
        x: Option<&[f32]>,
        logits: &mut [f32],
    ) {
        let n = logits.len() / self.head.outputs;
        let (isa, width) = (self.isa, self.isa.panel());
        let n_panels = n.div_ceil(width);
        let training = matches!(statistics, Statistics::Batch(_));
        let inputs = self.inputs();
        match x {
            // The pass back needs panels of columns, too.
            Some(x) if training => {
                self.gather(n, |row| &x[row * inputs..][..inputs]);
                self.pack(n, None);
            }
            _ => self.pack(n, x),
        }

        self.dropout = dropout;

        let mut input: &[f32] = &self.input;
        let mut before: Option<(&[f32], &mut [f32], usize)> = None;
        for (index, layer) in self.hidden.iter_mut().enumerate() {
            let left_out = |block: usize| {
                dropout.map(|dropout| LeftOut {
                    dropout,
                    layer: index,
                    first: block * BLOCK,
                })
            };
            let (linear, norm) = (layer.linear, layer.norm);
            let crew = Crew::new(self.isa, self.threads, n * linear.inputs * linear.outputs);
            for (unit, &bias) in layer.units.iter_mut().zip(&trainable[linear.bias_range()]) {
                unit.bias = bias;
            }
            let turn = turned(isa, before.take(), n_panels);
            let units = &mut layer.units;
            layer.of_batch = training && n > 1;
            match &mut statistics {
                Statistics::Batch(buffers) if n > 1 => {
                    let products =
                        linear.forward(isa, trainable, input, n_panels, &mut layer.active);
                    let normals =
                        Place::blocks(isa, &mut layer.normal, linear.outputs, n_panels, BLOCK);
                    let (gammas, betas) =
                        trainable[norm.scale..][..2 * norm.channels].split_at(norm.channels);
                    let coefficients = gammas.chunks(BLOCK).zip(betas.chunks(BLOCK));
                    let blocks = products.zip(normals).zip(units.chunks_mut(BLOCK));
                    let blocks = blocks.zip(coefficients).enumerate();
                    let blocks =
                        blocks.map(|(block, (((product, normal), units), (gammas, betas)))| {
                            Task::Train {
                                product,
                                units,
                                normal,
                                gammas,
                                betas,
                                left_out: left_out(block),
                            }
                        });
                    crew.work(inputs, n, blocks.chain(turn));
                    layer.move_running(n, buffers);
                }
                Statistics::Batch(buffers) => {
                    // One row has no statistics; the pass back needs what went into the normalisation.
                    recall(units, norm, trainable, buffers);
                    let products =
                        linear.forward(isa, trainable, input, n_panels, &mut layer.active);
                    let products = products.map(Task::Product);
                    crew.work(inputs, n, products.chain(turn));
                    let z = Place::blocks(isa, &mut layer.active, linear.outputs, n_panels, BLOCK);
                    let out =
                        Place::blocks(isa, &mut layer.normal, linear.outputs, n_panels, BLOCK);
                    let blocks = z.zip(out).zip(units.chunks_mut(BLOCK));
                    for (block, ((mut z, mut out), units)) in blocks.enumerate() {
                        panels::bias_relu_sum(self.isa, &mut z, n, units);
                        panels::affine(self.isa, &mut z, units, &mut out);
                        panels::leave_out(self.isa, &mut out, left_out(block));
                    }
                }
                Statistics::Running(buffers) => {
                    recall(units, norm, trainable, buffers);
                    let products =
                        linear.forward(isa, trainable, input, n_panels, &mut layer.normal);
                    let blocks = products.zip(units.chunks(BLOCK));
                    let blocks = blocks.map(|(product, units)| Task::Known { product, units });
                    crew.work(inputs, n, blocks.chain(turn));
                }
            }
            input = &layer.normal;
            before = training.then_some((&layer.normal, &mut layer.turned, linear.outputs));
        }
        let head = self.head;
        let products = head.forward(isa, trainable, input, n_panels, &mut self.scores);
        let crew = Crew::new(self.isa, self.threads, n * head.inputs * head.outputs);
        let turn = turned(isa, before, n_panels);
        crew.work(inputs, n, products.map(Task::Product).chain(turn));
        for (row, logits) in logits.chunks_exact_mut(head.outputs).enumerate() {
            for (unit, logit) in logits.iter_mut().enumerate() {
                *logit = self.scores[place(width, unit, row, head.outputs)];
            }
        }
        rows::bias_add(self.isa, logits, &trainable[head.bias_range()]);
    }

    /// The gradient of every parameter, from that of the scores of the last forward pass.
    pub(super) fn backward(&mut self, trainable: &[f32], dlogits: &[f32], gradient: &mut [f32]) {
        let n = dlogits.len() / self.head.outputs;
        let width = self.isa.panel();
        let bias = &mut gradient[self.head.bias_range()];
        bias.fill(0.0);
        rows::sum(self.isa, dlogits, bias);
        self.slope[..self.head.outputs * n.next_multiple_of(width)].fill(0.0);
        for (row, dlogits) in dlogits.chunks_exact(self.head.outputs).enumerate() {
            for (unit, &d) in dlogits.iter().enumerate() {
                self.slope[place(width, unit, row, self.head.outputs)] = d;
            }
        }
        for index in (0..=self.hidden.len()).rev() {
            self.linear_backward(index, n, trainable, gradient);
        }
    }

    /// Back through linear layer number `index`, from the gradient of its outcome in `slope`: its weights; and unless it is the
    /// first, whose input nobody asks the gradient of, that of the outcome of the layer before it.
    fn linear_backward(&mut self, index: usize, n: usize, trainable: &[f32], gradient: &mut [f32]) {
        let (isa, width) = (self.isa, self.isa.panel());
        let n_panels = n.div_ceil(width);
        let (before, here) = self.hidden.split_at_mut(index);
        let linear = here.first().map_or(self.head, |layer| layer.linear);
        let (turned, before) = match before.last_mut() {
            Some(layer) => {
                let share = if layer.of_batch { 1.0 / n as f64 } else { 0.0 };
                (
                    &layer.turned,
                    Some((&layer.active, &mut layer.units, share)),
                )
            }
            None => (&self.turned_input, None),
        };
        let (slope, weight) = (&self.slope, &trainable[linear.weight_range()]);
        let outs = gradient[linear.weight_range()].chunks_mut(BLOCK * linear.inputs);
        let weights = outs.enumerate().map(|(block, out)| {
            Task::Product(Product {
                rows: out.len() / linear.inputs,
                depth: n_panels * width,
                a: &slope[block * BLOCK * width..],
                order: Order::Panels(linear.outputs * width),
                b: turned,
                columns: linear.inputs,
                out: Place::matrix(isa, out, linear.inputs),
            })
        });
        let crew = Crew::new(self.isa, self.threads, n * linear.inputs * linear.outputs);
        let Some((active, units, share)) = before else {
            return crew.work(linear.inputs, n, weights);
        };
        let places = Place::blocks(isa, &mut self.next_slope, linear.inputs, n_panels, BLOCK);
        let blocks = places.zip(units.chunks_mut(BLOCK)).enumerate();
        let blocks = blocks.map(|(block, (out, units))| Task::Back {
            product: Product {
                rows: units.len(),
                depth: linear.outputs,
                a: &weight[block * BLOCK..],
                order: Order::Columns(linear.inputs),
                b: slope,
                columns: n_panels * width,
                out,
            },
            units,
            active,
            first: block * BLOCK,
            share,
            left_out: self.dropout.map(|dropout| LeftOut {
                dropout,
                layer: index - 1,
                first: block * BLOCK,
            }),
        });
        crew.work(linear.inputs, n, blocks.chain(weights));
        self.hidden[index - 1].store_gradients(gradient);
        std::mem::swap(&mut self.slope, &mut self.next_slope);
    }
}

/// Where the value of a unit for a row lies in the panels, so wide, of so many units.
fn place(width: usize, unit: usize, row: usize, n_units: usize) -> usize {
    (row / width * n_units + unit) * width + row % width
}

/// The tasks that exchange rows and units of a layer's outcome.
fn turned<'a>(
    isa: Isa,
    layer: Option<(&'a [f32], &'a mut [f32], usize)>,
    n_panels: usize,
) -> impl Iterator<Item = Task<'a>> {
    let width = isa.panel();
    layer.into_iter().flat_map(move |(from, out, n_units)| {
        let outs = out.chunks_mut(n_panels * width * width);
        let firsts = (0..n_units).step_by(width);
        outs.zip(firsts).map(move |(out, first)| Task::Turn {
            from,
            n_units,
            first,
            out,
        })
    })
}

/// Normalises with the running statistics.
fn recall(units: &mut [Unit], place: NormPlace, trainable: &[f32], buffers: &[f32]) {
    let (means, vars) = buffers[place.running..][..2 * place.channels].split_at(place.channels);
    let (gammas, betas) = trainable[place.scale..][..2 * place.channels].split_at(place.channels);
    for (channel, unit) in units[..place.channels].iter_mut().enumerate() {
        let var = f64::from(vars[channel]);
        unit.normalize(means[channel], var, gammas[channel], betas[channel]);
    }
}

impl Hidden {
    /// Moves the running statistics towards those of the batch.
    fn move_running(&self, n: usize, buffers: &mut [f32]) {
        let channels = self.norm.channels;
        let (means, vars) = buffers[self.norm.running..][..2 * channels].split_at_mut(channels);
        let move_to = |running: &mut f32, batch: f64| {
            *running = ((1.0 - MOMENTUM) * f64::from(*running) + MOMENTUM * batch) as f32;
        };
        for ((unit, mean), var) in self.units.iter().zip(means).zip(vars) {
            let [sum, deviation] = unit.sums;
            move_to(mean, sum / n as f64);
            move_to(var, deviation / (n as f64 - 1.0));
        }
    }

    /// Puts the gradients of scale, shift and bias where they belong.
    fn store_gradients(&self, gradient: &mut [f32]) {
        let channels = self.norm.channels;
        for (channel, unit) in self.units[..channels].iter().enumerate() {
            let [scale, shift, bias] = unit.gradients;
            gradient[self.norm.scale + channel] = scale;
            gradient[self.norm.scale + channels + channel] = shift;
            gradient[self.linear.bias_range().start + channel] = bias;
        }
    }
}
