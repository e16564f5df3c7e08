//! Passes over blocks of units in panels, and the ways into and out of panels.
//!
//! What a layer makes of a batch lies in panels of some rows of the batch: in each the values of the first unit, of the second, and so
//! on. A *block* is some neighbouring units over the whole batch. Values behind the last row of the batch are 0 where a pass says so.

use super::isa::{Isa, Kind, per_isa};
use super::rows::{self, Backward};
use super::tile::{Place, WIDEST};
use crate::dropout::Dropout;

/// The most units of a block: a multiple of the rows of every tile.
pub(crate) const BLOCK: usize = 24;

/// Panels after which sums in f32 are taken over into f64.
const SUMMED: usize = 16;

/// What a unit multiplies by and is summed up to.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Unit {
    pub(crate) bias: f32,
    /// `y = scale · x + shift` after the ReLU.
    pub(crate) scale: f32,
    pub(crate) shift: f32,
    /// The mean that the normalisation takes off, and what it multiplies by: one over the standard deviation.
    pub(crate) mean: f32,
    pub(crate) inverse: f32,
    /// `dx = a·dy + b·(x − mean) + c`, where `x > 0`.
    pub(crate) a: f32,
    pub(crate) b: f32,
    pub(crate) c: f32,
    /// Two sums over the batch.
    pub(crate) sums: [f64; 2],
    /// The gradients of γ, β and the bias.
    pub(crate) gradients: [f32; 3],
}

/// The most numbers of a block in one panel.
const LINE: usize = BLOCK * WIDEST;

/// A number of each unit, as often as it has values in a panel: the passes over [`rows`] take it for a row.
fn wide(isa: Isa, units: &[Unit], of: impl Fn(&Unit) -> f32) -> [f32; LINE] {
    let mut wide = [0.0; LINE];
    for (unit, wide) in units.iter().zip(wide.chunks_exact_mut(isa.panel())) {
        wide.fill(of(unit));
    }
    wide
}

/// Sums of the lanes of each unit, in f32 over some panels and in f64 over all of them.
struct Sums<'a> {
    units: &'a mut [Unit],
    which: usize,
    lanes: [f32; LINE],
    width: usize,
    panels: usize,
}

impl<'a> Sums<'a> {
    fn new(isa: Isa, units: &'a mut [Unit], which: usize) -> Self {
        for unit in units.iter_mut() {
            unit.sums[which] = 0.0;
        }
        Self {
            units,
            which,
            lanes: [0.0; LINE],
            width: isa.panel(),
            panels: 0,
        }
    }

    /// Adds a panel's.
    fn add(&mut self, pass: impl FnOnce(&mut [f32])) {
        pass(&mut self.lanes[..self.units.len() * self.width]);
        self.panels += 1;
        if self.panels.is_multiple_of(SUMMED) {
            self.take_over();
        }
    }

    /// Takes over what is left.
    fn finish(&mut self) {
        if !self.panels.is_multiple_of(SUMMED) {
            self.take_over();
        }
    }

    /// Takes the sums over, in a fixed order.
    fn take_over(&mut self) {
        let lanes = self.lanes.chunks_exact_mut(self.width);
        for (unit, lanes) in self.units.iter_mut().zip(lanes) {
            let mut half = lanes.len() / 2;
            while half > 0 {
                let (low, high) = lanes.split_at_mut(half);
                for (low, high) in low.iter_mut().zip(high) {
                    *low += *high;
                }
                half /= 2;
            }
            unit.sums[self.which] += f64::from(lanes[0]);
        }
        self.lanes.fill(0.0);
    }
}

/// `z ← relu(z + bias)`, 0 behind row `n`, and the first sum `Σ z`.
pub(crate) fn bias_relu_sum(isa: Isa, z: &mut Place<'_>, n: usize, units: &mut [Unit]) {
    let (width, size) = (isa.panel(), units.len() * isa.panel());
    let bias = wide(isa, units, |unit| unit.bias);
    let mut sums = Sums::new(isa, units, 0);
    for (panel, z) in z.panels_mut().enumerate() {
        let inside = width.min(n - panel * width);
        if inside == width {
            sums.add(|sum| rows::bias_relu_sum(isa, z, &bias[..size], sum));
        } else {
            rows::bias_relu_sum(isa, z, &bias[..size], &mut [0.0; LINE][..size]);
            for z in z.chunks_exact_mut(width) {
                z[inside..].fill(0.0);
            }
            sums.add(|sum| rows::sum(isa, z, sum));
        }
    }
    sums.finish();
}

/// The second sum `Σ (z − mean)²` over `n` rows.
pub(crate) fn squared_deviation(isa: Isa, z: &mut Place<'_>, n: usize, units: &mut [Unit]) {
    let (width, size) = (isa.panel(), units.len() * isa.panel());
    let mean = wide(isa, units, |unit| unit.mean);
    let mut sums = Sums::new(isa, units, 1);
    for (panel, z) in z.panels_mut().enumerate() {
        let inside = width.min(n - panel * width);
        if inside == width {
            sums.add(|sum| rows::squared_deviation(isa, z, &mean[..size], sum));
        } else {
            let mut part = [0.0; LINE];
            rows::squared_deviation(isa, z, &mean[..size], &mut part[..size]);
            for part in part.chunks_exact_mut(width) {
                part[inside..].fill(0.0);
            }
            sums.add(|sum| rows::sum(isa, &part[..size], sum));
        }
    }
    sums.finish();
}

/// `out ← scale · z + shift`.
pub(crate) fn affine(isa: Isa, z: &mut Place<'_>, units: &[Unit], out: &mut Place<'_>) {
    let size = units.len() * isa.panel();
    let (scale, shift) = (
        wide(isa, units, |unit| unit.scale),
        wide(isa, units, |unit| unit.shift),
    );
    for (z, out) in z.panels_mut().zip(out.panels_mut()) {
        rows::affine(isa, z, &scale[..size], &shift[..size], out);
    }
}

/// `z ← scale · relu(z + bias) + shift`: units whose statistics are known.
pub(crate) fn bias_relu_affine(isa: Isa, z: &mut Place<'_>, units: &[Unit]) {
    let size = units.len() * isa.panel();
    let (scale, shift) = (
        wide(isa, units, |unit| unit.scale),
        wide(isa, units, |unit| unit.shift),
    );
    let bias = wide(isa, units, |unit| unit.bias);
    for z in z.panels_mut() {
        rows::bias_relu_affine(isa, z, &bias[..size], &scale[..size], &shift[..size]);
    }
}

/// The sums `Σ dy` and `Σ dy · (z − mean)`.
pub(crate) fn norm_sums<'a>(
    isa: Isa,
    dy: &mut Place<'_>,
    z: impl Iterator<Item = &'a [f32]>,
    units: &mut [Unit],
) {
    let size = units.len() * isa.panel();
    let mean = wide(isa, units, |unit| unit.mean);
    let mut products = units.to_vec();
    let (mut sums, mut second) = (Sums::new(isa, units, 0), Sums::new(isa, &mut products, 1));
    for (dy, z) in dy.panels_mut().zip(z) {
        sums.add(|sum| {
            second.add(|product| rows::norm_sums(isa, dy, z, &mean[..size], sum, product));
        });
    }
    sums.finish();
    second.finish();
    for (unit, product) in units.iter_mut().zip(products) {
        unit.sums[1] = product.sums[1];
    }
}

/// `dy ← a·dy + b·(z − mean) + c` where `z > 0` and 0 elsewhere, and the first sum `Σ dy`: back through a normalisation and
/// the ReLU before it.
pub(crate) fn norm_relu_backward<'a>(
    isa: Isa,
    dy: &mut Place<'_>,
    z: impl Iterator<Item = &'a [f32]>,
    units: &mut [Unit],
) {
    let size = units.len() * isa.panel();
    let mean = wide(isa, units, |unit| unit.mean);
    let [a, b, c] = [
        wide(isa, units, |unit| unit.a),
        wide(isa, units, |unit| unit.b),
        wide(isa, units, |unit| unit.c),
    ];
    let k = Backward {
        mean: &mean[..size],
        a: &a[..size],
        b: &b[..size],
        c: &c[..size],
    };
    let mut sums = Sums::new(isa, units, 0);
    for (dy, z) in dy.panels_mut().zip(z) {
        sums.add(|sum| rows::norm_relu_backward(isa, dy, z, k, sum));
    }
    sums.finish();
}

/// What dropout leaves out of a block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LeftOut {
    pub(crate) dropout: Dropout,
    /// The hidden layer, and the unit of it that the block begins with.
    pub(crate) layer: usize,
    pub(crate) first: usize,
}

/// Leaves values out, or their gradients.
pub(crate) fn leave_out(isa: Isa, values: &mut Place<'_>, left_out: Option<LeftOut>) {
    if let Some(left_out) = left_out {
        let width = isa.panel();
        for (panel, values) in values.panels_mut().enumerate() {
            leave_out_of_panel(isa, left_out, values, width, panel * width);
        }
    }
}

per_isa! {
    /// The same for a panel of so many rows of the batch from `row` on.
    fn leave_out_of_panel(left_out: LeftOut, values: &mut [f32], width: usize, row: usize) {
        let LeftOut { dropout, layer, first } = left_out;
        for (unit, values) in values.chunks_exact_mut(width).enumerate() {
            dropout.apply(layer, first + unit, row, values);
        }
    }
}

/// `out[j, i] ← x[i, j]` for `rows × columns` numbers; rows of either lie so far apart.
pub(crate) fn transpose(
    isa: Isa,
    x: &[f32],
    pitch: usize,
    rows: usize,
    columns: usize,
    out: &mut [f32],
    out_pitch: usize,
) {
    if rows == 0 || columns == 0 {
        return;
    }
    assert!(
        (rows - 1) * pitch + columns <= x.len(),
        "too few numbers to transpose"
    );
    assert!(
        (columns - 1) * out_pitch + rows <= out.len(),
        "no room for what is transposed"
    );
    let (whole_rows, whole_columns) = match isa.kind() {
        Kind::Plain => (0, 0),
        #[cfg(target_arch = "x86_64")]
        Kind::Avx2 | Kind::Avx512 => {
            let whole = (rows / 8 * 8, columns / 8 * 8);
            // SAFETY: all rows lie inside, as seen above; both kinds have AVX2.
            unsafe { x86::transpose(x.as_ptr(), pitch, whole, out.as_mut_ptr(), out_pitch) }
            whole
        }
    };
    for i in 0..rows {
        let first = if i < whole_rows { whole_columns } else { 0 };
        for j in first..columns {
            out[j * out_pitch + i] = x[i * pitch + j];
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        _mm256_loadu_ps, _mm256_permute2f128_ps, _mm256_shuffle_ps, _mm256_storeu_ps,
        _mm256_unpackhi_ps, _mm256_unpacklo_ps,
    };

    /// As many rows and columns, both multiples of eight.
    ///
    /// # Safety
    /// Both pointers are good for them, rows so far apart.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn transpose(
        from: *const f32,
        pitch: usize,
        (rows, columns): (usize, usize),
        to: *mut f32,
        to_pitch: usize,
    ) {
        for j in (0..columns).step_by(8) {
            for i in (0..rows).step_by(8) {
                // SAFETY: as the caller promises.
                unsafe {
                    transpose8(
                        from.add(i * pitch + j),
                        pitch,
                        to.add(j * to_pitch + i),
                        to_pitch,
                    );
                }
            }
        }
    }

    /// Eight by eight numbers.
    ///
    /// # Safety
    /// Both pointers are good for eight rows of eight, so far apart.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn transpose8(from: *const f32, pitch: usize, to: *mut f32, to_pitch: usize) {
        // SAFETY: as the caller promises.
        let row = |i: usize| unsafe { _mm256_loadu_ps(from.add(i * pitch)) };
        let pair = |i: usize| {
            let (a, b) = (row(i), row(i + 1));
            (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b))
        };
        let four = |i: usize| {
            let ((a, b), (c, d)) = (pair(i), pair(i + 2));
            [
                _mm256_shuffle_ps::<0b0100_0100>(a, c),
                _mm256_shuffle_ps::<0b1110_1110>(a, c),
                _mm256_shuffle_ps::<0b0100_0100>(b, d),
                _mm256_shuffle_ps::<0b1110_1110>(b, d),
            ]
        };
        let (upper, lower) = (four(0), four(4));
        for (j, (&upper, &lower)) in upper.iter().zip(&lower).enumerate() {
            // SAFETY: as above.
            unsafe {
                let low = _mm256_permute2f128_ps::<0x20>(upper, lower);
                _mm256_storeu_ps(to.add(j * to_pitch), low);
                let high = _mm256_permute2f128_ps::<0x31>(upper, lower);
                _mm256_storeu_ps(to.add((j + 4) * to_pitch), high);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng;

    use super::*;
    use crate::kernels::rows::tests::ramp;

    fn units(n: usize) -> Vec<Unit> {
        let of = |i: usize| Unit {
            bias: 0.1 - 0.01 * i as f32,
            scale: 1.0 + 0.1 * i as f32,
            shift: 0.3,
            mean: 0.2,
            a: 0.5,
            b: -0.25,
            c: 0.125 * i as f32,
            sums: [7.0, 8.0],
            ..Unit::default()
        };
        (0..n).map(of).collect()
    }

    #[test]
    fn transposed_is_transposed() {
        for isa in Isa::available() {
            for (rows, columns) in [(1, 1), (8, 8), (9, 17), (32, 24), (5, 40), (16, 3)] {
                let (pitch, out_pitch) = (columns + 2, rows + 1);
                let x = ramp(rows * pitch, 0.618);
                let mut out = vec![9.0; columns * out_pitch];
                transpose(isa, &x, pitch, rows, columns, &mut out, out_pitch);
                for j in 0..columns {
                    for i in 0..rows {
                        assert_eq!(out[j * out_pitch + i], x[i * pitch + j]);
                    }
                    assert_eq!(out[j * out_pitch + rows], 9.0, "beside it");
                }
            }
        }
    }

    #[test]
    fn every_instruction_set_leaves_out_the_same() {
        let (count, n, rng) = (27, 70, &mut ChaCha8Rng::seed_from_u64(9));
        let dropout = Dropout::draw(0.3, rng).unwrap();
        let factors = dropout.factors(2, n, 3 + count);
        for isa in Isa::available() {
            let (width, n_panels) = (isa.panel(), n.div_ceil(isa.panel()));
            let mut values = vec![2.0; n_panels * count * width];
            for (block, mut place) in
                Place::blocks(isa, &mut values, count, n_panels, BLOCK).enumerate()
            {
                let left_out = LeftOut {
                    dropout,
                    layer: 2,
                    first: 3 + block * BLOCK,
                };
                leave_out(isa, &mut place, Some(left_out));
            }
            for (unit, row) in (0..count).flat_map(|unit| (0..n).map(move |row| (unit, row))) {
                let found = values[(row / width * count + unit) * width + row % width];
                assert_eq!(
                    found,
                    2.0 * factors[row * (3 + count) + 3 + unit],
                    "{isa:?}"
                );
            }
        }
    }

    /// Every pass on two blocks, with the plain loops over single values in f64 beside it.
    #[test]
    fn passes_compute_what_they_say() {
        for (count, n) in [(1_usize, 1_usize), (27, 32), (48, 70), (30, 1100)] {
            for isa in Isa::available() {
                let panel = isa.panel();
                let n_panels = n.div_ceil(panel);
                let size = n_panels * count * panel;
                let at =
                    |unit: usize, row: usize| (row / panel * count + unit) * panel + row % panel;
                let (raw, slopes) = (ramp(size, 0.618), ramp(size, 0.7548));
                let mut u = units(count);
                let (mut z, mut normal, mut known) = (raw.clone(), vec![0.0; size], raw.clone());
                let (mut before, mut sums, mut norms) = (slopes.clone(), Vec::new(), Vec::new());
                for row in n..n_panels * panel {
                    (0..count).for_each(|unit| before[at(unit, row)] = 0.0);
                }
                let mut dy = before.clone();
                let mut places = Place::blocks(isa, &mut z, count, n_panels, BLOCK);
                let mut normals = Place::blocks(isa, &mut normal, count, n_panels, BLOCK);
                let mut knowns = Place::blocks(isa, &mut known, count, n_panels, BLOCK);
                for u in u.chunks_mut(BLOCK) {
                    let mut z = places.next().unwrap();
                    bias_relu_sum(isa, &mut z, n, u);
                    squared_deviation(isa, &mut z, n, u);
                    sums.extend(u.iter().map(|unit| unit.sums));
                    affine(isa, &mut z, u, &mut normals.next().unwrap());
                    bias_relu_affine(isa, &mut knowns.next().unwrap(), u);
                }
                drop((places, normals, knowns));
                let blocks = Place::blocks(isa, &mut dy, count, n_panels, BLOCK);
                for (block, (mut dy, u)) in blocks.zip(u.chunks_mut(BLOCK)).enumerate() {
                    let active = dy.beside(&z, block * BLOCK);
                    norm_sums(isa, &mut dy, active, u);
                    norms.extend(u.iter().map(|unit| unit.sums));
                    let active = dy.beside(&z, block * BLOCK);
                    norm_relu_backward(isa, &mut dy, active, u);
                }
                for (i, unit) in units(count).iter().enumerate() {
                    let (mut wanted, mut back) = ([0.0; 4], 0.0);
                    for row in 0..n {
                        let cut = f64::from((raw[at(i, row)] + unit.bias).max(0.0));
                        assert_eq!(f64::from(z[at(i, row)]), cut);
                        let scaled = cut * f64::from(unit.scale) + f64::from(unit.shift);
                        assert!((f64::from(normal[at(i, row)]) - scaled).abs() < 1e-5);
                        assert!((f64::from(known[at(i, row)]) - scaled).abs() < 1e-5);
                        let (d, gap) = (f64::from(before[at(i, row)]), cut - f64::from(unit.mean));
                        for (sum, part) in wanted.iter_mut().zip([cut, gap * gap, d, d * gap]) {
                            *sum += part;
                        }
                        let d = 0.5 * d - 0.25 * gap + f64::from(unit.c);
                        let d = if cut > 0.0 { d } else { 0.0 };
                        assert!((f64::from(dy[at(i, row)]) - d).abs() < 1e-5);
                        back += d;
                    }
                    for row in n..n_panels * panel {
                        assert_eq!((z[at(i, row)], dy[at(i, row)]), (0.0, 0.0));
                    }
                    let found = [sums[i][0], sums[i][1], norms[i][0], norms[i][1]];
                    for (found, wanted) in found.iter().zip(wanted).chain([(&u[i].sums[0], back)]) {
                        let near = 1e-5 * (1.0 + n as f64 / 10.0);
                        assert!((found - wanted).abs() < near, "{found} {wanted}");
                    }
                }
            }
        }
    }
}
