//! Products of a block of rows with a matrix in panels: what a perceptron's step spends its time on.
//!
//! A *panel* is some columns of a matrix, two registers of them ([`Isa::panel`]), stored row after row, so that the inner loop reads it straight on. The
//! other operand is read where it lies, one number at a time. Nothing is packed for a product: what one product
//! writes is in panels already, and those are what the next one reads.
//!
//! Every number of the outcome is summed up in one order, that of the inner index, whatever the tile it falls into and whoever
//! computes it. So parts have the bits of the whole.

use std::marker::PhantomData;
use std::ops::Range;

use super::isa::{Isa, Kind};
use super::lanes::{Lanes, Plain};

/// The most columns of a panel.
pub(crate) const WIDEST: usize = 32;

/// Panels that one strip of rows after the other is multiplied with: the strip stays in the first cache, the panels in the second.
const GROUP: usize = 32;

/// Steps that are written out one after the other where the inner index is cut into panels.
const UNROLLED: usize = 2;

/// How the first operand lies in memory.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Order {
    /// The inner index runs fastest; rows are so far apart.
    Rows(usize),
    /// Rows are neighbours; the inner index is so far apart.
    Columns(usize),
    /// In panels: the inner index runs through a panel, in which rows are a panel's width apart; the next panel is so far away.
    Panels(usize),
}

/// A place for the outcome of a product: some rows in panels or of a matrix, which nobody else has.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    first: *mut f32,
    rows: usize,
    columns: usize,
    /// From a row to the next one, and from a panel to the next one.
    row: usize,
    panel: usize,
    /// Columns of a panel.
    width: usize,
    owner: PhantomData<&'a mut [f32]>,
}

// SAFETY: a place is a mutable borrow of numbers that no other place has.
unsafe impl Send for Place<'_> {}

impl<'a> Place<'a> {
    /// A matrix, row by row.
    pub(crate) fn matrix(isa: Isa, data: &'a mut [f32], columns: usize) -> Self {
        Self {
            width: isa.panel(),
            first: data.as_mut_ptr(),
            rows: data.len() / columns.max(1),
            columns,
            row: columns,
            panel: isa.panel(),
            owner: PhantomData,
        }
    }

    /// `units` rows in `n_panels` panels, at most `size` rows to a place.
    pub(crate) fn blocks(
        isa: Isa,
        data: &'a mut [f32],
        units: usize,
        n_panels: usize,
        size: usize,
    ) -> impl Iterator<Item = Self> {
        let width = isa.panel();
        assert!(data.len() >= units * n_panels * width, "too few panels");
        let all = data.as_mut_ptr();
        (0..units).step_by(size).map(move |unit| Self {
            // Inside, as seen above.
            first: all.wrapping_add(unit * width),
            rows: size.min(units - unit),
            columns: n_panels * width,
            row: width,
            panel: units * width,
            width,
            owner: PhantomData,
        })
    }

    /// The rows of a panel, one after the other; for places in panels.
    pub(crate) fn panels_mut(&mut self) -> impl Iterator<Item = &mut [f32]> {
        assert_eq!(self.row, self.width, "not in panels");
        (0..self.columns / self.width).map(|panel| {
            // SAFETY: rows lie one behind the other, and panels do not overlap.
            unsafe {
                let first = self.first.add(panel * self.panel);
                std::slice::from_raw_parts_mut(first, self.rows * self.width)
            }
        })
    }

    /// The same rows, from `unit` on, of other panels of the same shape.
    pub(crate) fn beside<'b>(
        &self,
        data: &'b [f32],
        unit: usize,
    ) -> impl Iterator<Item = &'b [f32]> + use<'b> {
        let (first, size, pitch) = (unit * self.width, self.rows * self.width, self.panel);
        (0..self.columns / self.width).map(move |panel| &data[panel * pitch + first..][..size])
    }
}

/// `out ← a b` for some rows of `a` and all panels of `b`.
#[derive(Debug)]
pub(crate) struct Product<'a> {
    pub(crate) rows: usize,
    /// Length of the inner index; whole panels if `a` is in panels.
    pub(crate) depth: usize,
    pub(crate) a: &'a [f32],
    pub(crate) order: Order,
    /// Panels, a line of them for each step of the inner index.
    pub(crate) b: &'a [f32],
    /// Columns of all panels together.
    pub(crate) columns: usize,
    pub(crate) out: Place<'a>,
}

impl Product<'_> {
    /// Computes it.
    pub(crate) fn compute(&mut self, isa: Isa) {
        self.check(isa);
        if self.rows == 0 || self.columns == 0 {
            return;
        }
        // SAFETY: `check` has seen that every address is inside, and an `Isa` exists only where its features were detected.
        unsafe {
            match isa.kind() {
                Kind::Plain => strips::<Plain, 4, 2>(self),
                #[cfg(target_arch = "x86_64")]
                Kind::Avx2 => avx2(self),
                #[cfg(target_arch = "x86_64")]
                Kind::Avx512 => avx512(self),
            }
        }
    }

    fn check(&self, isa: Isa) {
        let panel = isa.panel();
        assert_eq!(panel, self.out.width, "panels of another width");
        let Self {
            rows,
            depth,
            columns,
            ..
        } = *self;
        let needed = match self.order {
            _ if rows == 0 || depth == 0 => 0,
            Order::Rows(pitch) => (rows - 1) * pitch + depth,
            Order::Columns(pitch) => rows + (depth - 1) * pitch,
            Order::Panels(pitch) => {
                assert_eq!(depth % panel, 0, "not in whole panels");
                (depth / panel - 1) * pitch + rows * panel
            }
        };
        assert!(needed <= self.a.len(), "the first operand is too short");
        assert!(
            columns.div_ceil(panel) * depth * panel <= self.b.len(),
            "the panels are too short"
        );
        assert!(
            rows <= self.out.rows && columns <= self.out.columns,
            "the place for the outcome is too small"
        );
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2(product: &mut Product<'_>) {
    // SAFETY: the caller's product was checked, and the instructions are there.
    unsafe { strips::<super::lanes::Avx2, 6, 2>(product) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
unsafe fn avx512(product: &mut Product<'_>) {
    // SAFETY: as above.
    unsafe { strips::<super::lanes::Avx512, 12, 4>(product) }
}

/// All panels, in strips of `LARGE`, `SMALL` or one row.
///
/// # Safety
/// The product was checked, and the caller is compiled for `L`.
#[inline(always)]
#[allow(clippy::inline_always, reason = "compiled once per instruction set")]
unsafe fn strips<L: Lanes, const LARGE: usize, const SMALL: usize>(product: &mut Product<'_>) {
    let n_panels = product.columns.div_ceil(2 * L::N);
    // Rows that are neighbours are laid one behind the other for each strip: they are few, and used for every panel.
    let mut strip_of = match product.order {
        Order::Columns(_) => vec![0.0; product.depth * LARGE],
        _ => Vec::new(),
    };
    for first in (0..n_panels).step_by(GROUP) {
        let group = first..n_panels.min(first + GROUP);
        let mut row = 0;
        while row < product.rows {
            let (group, left) = (group.clone(), product.rows - row);
            // SAFETY: as the caller promises; the rows lie in the product.
            row += unsafe {
                if left >= LARGE {
                    strip::<L, LARGE>(product, row, group, &mut strip_of)
                } else if left >= SMALL {
                    strip::<L, SMALL>(product, row, group, &mut strip_of)
                } else {
                    strip::<L, 1>(product, row, group, &mut strip_of)
                }
            };
        }
    }
}

/// `R` rows of some panels.
///
/// # Safety
/// As [`strips`].
#[inline(always)]
#[allow(clippy::inline_always, reason = "compiled once per instruction set")]
unsafe fn strip<L: Lanes, const R: usize>(
    product: &mut Product<'_>,
    row: usize,
    group: Range<usize>,
    strip_of: &mut [f32],
) -> usize {
    if let Order::Columns(pitch) = product.order {
        for (k, values) in strip_of.chunks_exact_mut(R).take(product.depth).enumerate() {
            values.copy_from_slice(&product.a[k * pitch + row..][..R]);
        }
    }
    let full = 2 * L::N;
    for panel in group {
        // SAFETY: `check` has seen that all of this is inside.
        unsafe {
            let a = product.a.as_ptr();
            let start = panel * product.out.panel + row * product.out.row;
            let tile = Tile {
                depth: product.depth,
                b: product.b.as_ptr().add(panel * product.depth * full),
                out: product.out.first.add(start),
                out_row: product.out.row,
                wanted: full.min(product.columns - panel * full),
            };
            if tile.wanted > L::N {
                match product.order {
                    Order::Rows(pitch) => tile.of_rows::<L, R, 2>(a.add(row * pitch), pitch),
                    Order::Columns(_) => tile.of_strip::<L, R, 2>(strip_of.as_ptr()),
                    Order::Panels(pitch) => tile.of_panels::<L, R, 2>(a.add(row * full), pitch),
                }
            } else {
                match product.order {
                    Order::Rows(pitch) => tile.of_rows::<L, R, 1>(a.add(row * pitch), pitch),
                    Order::Columns(_) => tile.of_strip::<L, R, 1>(strip_of.as_ptr()),
                    Order::Panels(pitch) => tile.of_panels::<L, R, 1>(a.add(row * full), pitch),
                }
            }
        }
    }
    R
}

/// A few rows by one or two registers of the outcome.
#[derive(Debug, Clone, Copy)]
struct Tile {
    depth: usize,
    b: *const f32,
    out: *mut f32,
    out_row: usize,
    /// Columns that are wanted.
    wanted: usize,
}

#[allow(clippy::inline_always, reason = "compiled once per instruction set")]
impl Tile {
    /// # Safety
    /// All that is read and written is inside, and the caller is compiled for `L`.
    #[inline(always)]
    unsafe fn of_rows<L: Lanes, const R: usize, const C: usize>(self, a: *const f32, pitch: usize) {
        // SAFETY: as the caller promises.
        unsafe {
            let mut sums = [[L::splat(0.0); C]; R];
            for k in 0..self.depth {
                step::<L, R, C>(&mut sums, a.add(k), pitch, self.b.add(k * 2 * L::N));
            }
            self.store(&sums);
        }
    }

    /// # Safety
    /// As above.
    #[inline(always)]
    unsafe fn of_strip<L: Lanes, const R: usize, const C: usize>(self, a: *const f32) {
        // SAFETY: as the caller promises.
        unsafe {
            let mut sums = [[L::splat(0.0); C]; R];
            for k in 0..self.depth {
                step::<L, R, C>(&mut sums, a.add(k * R), 1, self.b.add(k * 2 * L::N));
            }
            self.store(&sums);
        }
    }

    /// # Safety
    /// As above.
    #[inline(always)]
    unsafe fn of_panels<L: Lanes, const R: usize, const C: usize>(
        self,
        a: *const f32,
        pitch: usize,
    ) {
        // SAFETY: as the caller promises.
        unsafe {
            let mut sums = [[L::splat(0.0); C]; R];
            let width = 2 * L::N;
            for panel in 0..self.depth / width {
                let (a, b) = (a.add(panel * pitch), self.b.add(panel * width * width));
                for k in (0..width).step_by(UNROLLED) {
                    for k in k..k + UNROLLED {
                        step::<L, R, C>(&mut sums, a.add(k), width, b.add(k * width));
                    }
                }
            }
            self.store(&sums);
        }
    }

    /// # Safety
    /// As above.
    #[inline(always)]
    unsafe fn store<L: Lanes, const R: usize, const C: usize>(self, sums: &[[L; C]; R]) {
        // SAFETY: as the caller promises; a line has room for every register.
        unsafe {
            for (i, sums) in sums.iter().enumerate() {
                let row = self.out.add(i * self.out_row);
                if self.wanted >= C * L::N {
                    for (j, sum) in sums.iter().enumerate() {
                        sum.store(row.add(j * L::N));
                    }
                } else {
                    let mut line = [0.0; WIDEST];
                    for (j, sum) in sums.iter().enumerate() {
                        sum.store(line.as_mut_ptr().add(j * L::N));
                    }
                    std::ptr::copy_nonoverlapping(line.as_ptr(), row, self.wanted);
                }
            }
        }
    }
}

/// One step of the inner index: `R` numbers, so far apart, times `C` registers.
///
/// # Safety
/// All of them can be read, and the caller is compiled for `L`.
#[inline(always)]
#[allow(clippy::inline_always, reason = "compiled once per instruction set")]
unsafe fn step<L: Lanes, const R: usize, const C: usize>(
    sums: &mut [[L; C]; R],
    a: *const f32,
    pitch: usize,
    b: *const f32,
) {
    // SAFETY: as the caller promises.
    unsafe {
        let mut columns = [L::splat(0.0); C];
        for (j, column) in columns.iter_mut().enumerate() {
            *column = L::load(b.add(j * L::N));
        }
        for (i, sums) in sums.iter_mut().enumerate() {
            let value = L::splat(*a.add(i * pitch));
            for (sum, &column) in sums.iter_mut().zip(&columns) {
                *sum = sum.add_product(value, column);
            }
        }
    }
}

/// Multiplies and adds `12 · n` registers in twelve chains that do not wait for one another, and nothing else: what the processor can do at most.
/// The answer is how many additions and multiplications that was.
pub(crate) fn fma_chains(isa: Isa, n: usize) -> f64 {
    // SAFETY: an `Isa` exists only where its features were detected.
    let lanes = unsafe {
        match isa.kind() {
            Kind::Plain => chains::<Plain>(n),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => chains_avx2(n),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => chains_avx512(n),
        }
    };
    2.0 * (CHAINS * lanes * n) as f64
}

const CHAINS: usize = 12;

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn chains_avx2(n: usize) -> usize {
    // SAFETY: the instructions are there.
    unsafe { chains::<super::lanes::Avx2>(n) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
unsafe fn chains_avx512(n: usize) -> usize {
    // SAFETY: as above.
    unsafe { chains::<super::lanes::Avx512>(n) }
}

/// # Safety
/// The caller is compiled for `L`.
#[inline(always)]
#[allow(clippy::inline_always, reason = "compiled once per instruction set")]
unsafe fn chains<L: Lanes>(n: usize) -> usize {
    // SAFETY: as the caller promises; the buffer has room for every register.
    unsafe {
        let mut sums = [L::splat(0.0); CHAINS];
        let value = L::splat(std::hint::black_box(1e-9));
        for _ in 0..n {
            for sum in &mut sums {
                *sum = sum.add_product(value, value);
            }
        }
        for sum in sums {
            let mut out = [0.0_f32; WIDEST];
            sum.store(out.as_mut_ptr());
            std::hint::black_box(out[0]);
        }
    }
    L::N
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::rows::tests::ramp;

    /// A product of an operand that lies as it may, against plain sums in f64.
    fn compare(isa: Isa, rows: usize, depth: usize, columns: usize, order: Order) -> Vec<u32> {
        let (a_of, b_of) = (ramp(rows * depth, 0.618), ramp(columns * depth, 0.7548));
        let panel = isa.panel();
        let n_panels = columns.div_ceil(panel);
        let at = |i: usize, k: usize| match order {
            Order::Rows(pitch) => i * pitch + k,
            Order::Columns(pitch) => i + k * pitch,
            Order::Panels(pitch) => k / panel * pitch + i * panel + k % panel,
        };
        let last = (rows - 1, depth.saturating_sub(1));
        let mut a = vec![0.0; at(last.0, last.1) + 1];
        let mut b = vec![0.0; n_panels * depth * panel];
        for k in 0..depth {
            for i in 0..rows {
                a[at(i, k)] = a_of[i * depth + k];
            }
            for j in 0..columns {
                b[(j / panel * depth + k) * panel + j % panel] = b_of[k * columns + j];
            }
        }
        let mut out = vec![9.0_f32; rows * columns];
        let mut product = Product {
            rows,
            depth,
            a: &a,
            order,
            b: &b,
            columns,
            out: Place::matrix(isa, &mut out, columns),
        };
        product.compute(isa);
        // The same into panels, between units of others.
        let mut wide = vec![9.0_f32; n_panels * (rows + 5) * panel];
        let mut places = Place::blocks(isa, &mut wide, rows + 5, n_panels, rows);
        let out_place = places.next().unwrap();
        Product {
            out: out_place,
            ..product
        }
        .compute(isa);
        drop(places);
        for (unit, p) in (0..rows + 5).flat_map(|unit| (0..n_panels).map(move |p| (unit, p))) {
            for j in 0..panel {
                let found = wide[(p * (rows + 5) + unit) * panel + j];
                let column = p * panel + j;
                let wanted = if unit < rows && column < columns {
                    out[unit * columns + column]
                } else {
                    9.0
                };
                assert_eq!(
                    found.to_bits(),
                    wanted.to_bits(),
                    "unit {unit}, column {column}"
                );
            }
        }
        for i in 0..rows {
            for j in 0..columns {
                let wanted: f64 = (0..depth)
                    .map(|k| f64::from(a_of[i * depth + k]) * f64::from(b_of[k * columns + j]))
                    .sum();
                let found = f64::from(out[i * columns + j]);
                assert!(
                    (found - wanted).abs() < 1e-6 * (depth as f64 + 1.0),
                    "{isa:?} {order:?} {rows}x{depth}x{columns} at {i},{j}: {found} {wanted}"
                );
            }
        }
        out.iter().map(|value| value.to_bits()).collect()
    }

    #[test]
    fn products_are_those_of_plain_sums_and_vector_sets_agree_to_the_bit() {
        for (rows, depth, columns) in [
            (1, 1, 1),
            (3, 7, 5),
            (12, 32, 32),
            (13, 25, 33),
            (24, 64, 700),
            (17, 96, 100),
            (5, 0, 40),
            (23, 100, 16),
            (6, 6, 8),
        ] {
            for order in 0..3 {
                let of = |isa: Isa| match order {
                    0 => Order::Rows(depth + 3),
                    1 => Order::Columns(rows + 2),
                    _ => Order::Panels((rows + 1) * isa.panel()),
                };
                if order == 2 && !depth.is_multiple_of(WIDEST) {
                    continue;
                }
                let found: Vec<_> = Isa::available()
                    .into_iter()
                    .map(|isa| compare(isa, rows, depth, columns, of(isa)))
                    .collect();
                // The plain one does not fuse its products and sums.
                if let [_, first, others @ ..] = &found[..] {
                    assert!(others.iter().all(|other| other == first));
                }
            }
        }
    }

    #[test]
    fn operands_and_places_that_are_too_short_are_seen() {
        let isa = Isa::detect();
        let (long, mut out) = ([0.0; 96], [0.0; 64]);
        let mut panics = |a: usize, b: usize, out_len: usize| {
            let mut product = Product {
                rows: 2,
                depth: 3,
                a: &long[..a],
                order: Order::Rows(3),
                b: &long[..b],
                columns: 32,
                out: Place::matrix(isa, &mut out[..out_len], 32),
            };
            let check = std::panic::AssertUnwindSafe(|| product.compute(isa));
            std::panic::catch_unwind(check).is_err()
        };
        assert!(!panics(6, 96, 64));
        assert!(panics(5, 96, 64) && panics(6, 95, 64) && panics(6, 96, 63));
    }

    #[test]
    fn chains_count_their_operations() {
        for isa in Isa::available() {
            let one = fma_chains(isa, 10);
            assert_eq!(fma_chains(isa, 30), 3.0 * one);
            assert!(one >= 2.0 * 12.0 * 4.0 * 10.0);
        }
    }
}
