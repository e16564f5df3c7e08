//! Matrix products on packed operands: tiles of six rows by sixteen columns.
//!
//! The right operand is packed into panels of sixteen columns, a block of its rows at a time, so
//! that a panel stays in the first cache while the left operand goes past it. The left operand is
//! read in place where its rows are runs of numbers, and else packed into strips of six rows.

use super::isa::{Isa, Kind};
use super::lanes::{Lanes, Plain};
use super::matmul::Mat;
use crate::threads::Threads;

/// Columns of a panel.
const COLS: usize = 16;

/// Rows of a tile.
const ROWS: usize = 6;

/// The most rows of the right operand packed together: its panel and six rows of the left operand
/// stay in a first cache of 32 kB.
const DEPTH: usize = 320;

/// How a sum of `depth` terms is cut: the length of every block but the last.
fn block_depth(depth: usize) -> usize {
    depth.div_ceil(depth.div_ceil(DEPTH).max(1)).max(1)
}

/// Two operands ready to be multiplied.
#[derive(Debug)]
pub(super) struct Packed<'a> {
    isa: Isa,
    left: Left<'a>,
    panels: &'a [f32],
    /// Length of the sums.
    depth: usize,
    cols: usize,
}

impl<'a> Packed<'a> {
    /// Packs `a` and `b` into `room`.
    pub(super) fn new(
        isa: Isa,
        a: Mat<'a>,
        b: Mat<'_>,
        room: (&'a mut Vec<f32>, &'a mut Vec<f32>),
        threads: Threads,
    ) -> Self {
        let (packed_a, packed_b) = room;
        let depth = block_depth(a.cols);
        let n_panels = b.cols.div_ceil(COLS);
        grow(packed_b, n_panels * COLS * b.rows);
        let mut rest = &mut packed_b[..];
        for first in (0..b.rows).step_by(depth) {
            let depth = depth.min(b.rows - first);
            let (block, after) = rest.split_at_mut(n_panels * COLS * depth);
            let panels = block.chunks_exact_mut(COLS * depth).enumerate();
            threads.for_each(panels, |(panel, to)| pack_panel(b, first, panel * COLS, to));
            rest = after;
        }
        let left = if a.col == 1 {
            Left::Rows(a)
        } else {
            grow(packed_a, a.rows.div_ceil(ROWS) * ROWS * a.cols);
            let strips = packed_a
                .chunks_exact_mut(ROWS * a.cols)
                .take(a.rows.div_ceil(ROWS));
            threads.for_each(strips.enumerate(), |(strip, to)| {
                pack_strip(a, strip * ROWS, to);
            });
            Left::Strips(packed_a)
        };
        Self {
            isa,
            left,
            panels: packed_b,
            depth: a.cols,
            cols: b.cols,
        }
    }

    /// The rows `out` of the product, from row `first` on, which is a multiple of [`ROWS`].
    pub(super) fn multiply(&self, first: usize, out: &mut [f32]) {
        let shape = (first, self.depth, self.cols);
        multiply(self.isa, self.left, self.panels, shape, out);
    }
}

fn grow(room: &mut Vec<f32>, len: usize) {
    if room.len() < len {
        room.resize(len, 0.0);
    }
}

/// Sixteen columns of `b` from column `col`, from row `first` for as many rows as there is room;
/// columns that are not there are zero.
fn pack_panel(b: Mat<'_>, first: usize, col: usize, to: &mut [f32]) {
    let n_cols = COLS.min(b.cols - col);
    let from = &b.data[first * b.row + col * b.col..];
    if b.col == 1 && n_cols == COLS {
        for (row, to) in to.as_chunks_mut::<COLS>().0.iter_mut().enumerate() {
            // Of a length known beforehand: two moves, not a call.
            to.copy_from_slice(&from[row * b.row..][..COLS]);
        }
        return;
    }
    if b.col == 1 {
        for (row, to) in to.chunks_exact_mut(COLS).enumerate() {
            to[..n_cols].copy_from_slice(&from[row * b.row..][..n_cols]);
            to[n_cols..].fill(0.0);
        }
        return;
    }
    #[cfg(target_arch = "x86_64")]
    if b.row == 1 && n_cols == COLS {
        return transpose(from, b.col, to);
    }
    for i in 0..COLS {
        let to = to[i..].iter_mut().step_by(COLS);
        if i < n_cols {
            let from = from[i * b.col..].iter().step_by(b.row);
            to.zip(from).for_each(|(to, from)| *to = *from);
        } else {
            to.for_each(|to| *to = 0.0);
        }
    }
}

/// Sixteen rows of `from`, `pitch` apart, as the columns of `to`: four by four numbers at a time.
#[cfg(target_arch = "x86_64")]
fn transpose(from: &[f32], pitch: usize, to: &mut [f32]) {
    use std::arch::x86_64::{_MM_TRANSPOSE4_PS, _mm_loadu_ps, _mm_storeu_ps};

    let depth = to.len() / COLS;
    assert!(
        (COLS - 1) * pitch + depth <= from.len(),
        "out of the right operand"
    );
    let whole = depth / 4 * 4;
    for k in (0..whole).step_by(4) {
        for i in (0..COLS).step_by(4) {
            // SAFETY: the last row read ends inside `from` and the last one written inside `to`;
            // the instructions are there on every x86-64.
            unsafe {
                let row = |r: usize| _mm_loadu_ps(from.as_ptr().add((i + r) * pitch + k));
                let (mut a, mut b, mut c, mut d) = (row(0), row(1), row(2), row(3));
                _MM_TRANSPOSE4_PS(&mut a, &mut b, &mut c, &mut d);
                for (r, value) in [a, b, c, d].into_iter().enumerate() {
                    _mm_storeu_ps(to.as_mut_ptr().add((k + r) * COLS + i), value);
                }
            }
        }
    }
    for k in whole..depth {
        for i in 0..COLS {
            to[k * COLS + i] = from[i * pitch + k];
        }
    }
}

/// Six rows of `a` from row `first`, six numbers of a column together; the last row stands in for
/// those that are not there.
fn pack_strip(a: Mat<'_>, first: usize, to: &mut [f32]) {
    let last = a.rows - 1 - first;
    for (col, to) in to.chunks_exact_mut(ROWS).enumerate() {
        let from = &a.data[first * a.row + col * a.col..];
        if a.row == 1 && last >= ROWS - 1 {
            to.copy_from_slice(&from[..ROWS]);
        } else {
            for (i, to) in to.iter_mut().enumerate() {
                *to = from[i.min(last) * a.row];
            }
        }
    }
}

/// The left operand as the kernel reads it.
#[derive(Debug, Clone, Copy)]
enum Left<'a> {
    /// Its rows are runs of numbers.
    Rows(Mat<'a>),
    /// Packed by [`pack_strip`].
    Strips(&'a [f32]),
}

/// The rows `out` of a product from row `first`, where `shape` is that row, the length of the sums
/// and the number of columns.
fn multiply(
    isa: Isa,
    a: Left<'_>,
    packed_b: &[f32],
    shape: (usize, usize, usize),
    out: &mut [f32],
) {
    let (first, depth, cols) = shape;
    let n_rows = out.len() / cols;
    match a {
        Left::Rows(a) => {
            let end = (first + n_rows - 1) * a.row + depth;
            assert!(a.col == 1 && end <= a.data.len(), "out of the left operand");
        }
        Left::Strips(strips) => {
            assert!(first.is_multiple_of(ROWS), "a strip is whole");
            let end = (first + n_rows).div_ceil(ROWS) * ROWS * depth;
            assert!(end <= strips.len(), "out of the left operand");
        }
    }
    assert!(
        cols.div_ceil(COLS) * COLS * depth <= packed_b.len(),
        "out of the right operand"
    );
    // SAFETY: every address was checked above, and an `Isa` is proof of its instructions.
    unsafe {
        match isa.kind() {
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 | Kind::Avx512 => multiply_avx2(a, packed_b, shape, out),
            Kind::Plain => blocks::<Plain, 4>(a, packed_b, shape, out),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn multiply_avx2(
    a: Left<'_>,
    packed_b: &[f32],
    shape: (usize, usize, usize),
    out: &mut [f32],
) {
    // SAFETY: the caller has checked every address.
    unsafe { blocks::<super::lanes::Avx2, 2>(a, packed_b, shape, out) }
}

/// All tiles of the rows `out`.
#[inline(always)]
#[allow(clippy::inline_always, reason = "compiled once per instruction set")]
unsafe fn blocks<V: Lanes, const NV: usize>(
    a: Left<'_>,
    packed_b: &[f32],
    (first_row, all, cols): (usize, usize, usize),
    out: &mut [f32],
) {
    let n_rows = out.len() / cols;
    let (mut first, mut panels) = (0, packed_b.as_ptr());
    let most = block_depth(all);
    while first < all {
        let depth = most.min(all - first);
        for col in (0..cols).step_by(COLS) {
            let width = COLS.min(cols - col);
            for row in (0..n_rows).step_by(ROWS) {
                let height = ROWS.min(n_rows - row);
                // SAFETY: `multiply` has checked the reach of both operands.
                let sums = unsafe {
                    match a {
                        Left::Rows(a) => {
                            let mut rows = [a.data.as_ptr(); ROWS];
                            for (i, pointer) in rows.iter_mut().enumerate() {
                                // Past the end the last row stands in.
                                let row = first_row + row + i.min(height - 1);
                                *pointer = pointer.add(row * a.row + first);
                            }
                            rows_by_panel::<V, NV>(rows, panels, depth, ROWS * a.row)
                        }
                        Left::Strips(strips) => {
                            let strip = (first_row + row) * all + first * ROWS;
                            strip_by_panel::<V, NV>(strips.as_ptr().add(strip), panels, depth)
                        }
                    }
                };
                let out = &mut out[row * cols + col..];
                // SAFETY: a whole panel has sixteen columns left in every row of `out`, and a
                // part of one goes by way of a tile of its own.
                unsafe {
                    if width == COLS {
                        for (i, sums) in sums.iter().enumerate().take(height) {
                            let out = &mut out[i * cols..][..COLS];
                            write::<V, NV>(sums, out.as_mut_ptr(), first > 0);
                        }
                    } else {
                        for (i, sums) in sums.iter().enumerate().take(height) {
                            let mut tile = [0.0; COLS];
                            let out = &mut out[i * cols..][..width];
                            tile[..width].copy_from_slice(out);
                            write::<V, NV>(sums, tile.as_mut_ptr(), first > 0);
                            out.copy_from_slice(&tile[..width]);
                        }
                    }
                }
            }
            // SAFETY: one past the end at the most.
            panels = unsafe { panels.add(COLS * depth) };
        }
        first += depth;
    }
}

/// Replaces sixteen numbers, or adds to them.
#[inline(always)]
#[allow(clippy::inline_always, reason = "compiled once per instruction set")]
unsafe fn write<V: Lanes, const NV: usize>(sums: &[V; NV], to: *mut f32, add: bool) {
    // SAFETY: the caller's pointer is good for sixteen numbers.
    unsafe {
        for (v, sum) in sums.iter().enumerate() {
            let to = to.add(v * V::N);
            let sum = if add {
                sum.add_product(V::load(to), V::splat(1.0))
            } else {
                *sum
            };
            sum.store(to);
        }
    }
}

/// Numbers in a line of the caches.
const LINE: usize = 16;

/// Six rows, each a run of `depth` numbers, by a panel. `ahead` is how far the next six are: they
/// are fetched meanwhile, which no processor guesses by itself.
#[inline(always)]
#[allow(clippy::inline_always, reason = "compiled once per instruction set")]
unsafe fn rows_by_panel<V: Lanes, const NV: usize>(
    rows: [*const f32; ROWS],
    panel: *const f32,
    depth: usize,
    ahead: usize,
) -> [[V; NV]; ROWS] {
    // SAFETY: the caller's pointers are good for `depth` numbers and rows of the panel.
    unsafe {
        let mut sums = [[V::splat(0.0); NV]; ROWS];
        let mut first = 0;
        while first < depth {
            for row in rows {
                V::fetch(row.wrapping_add(ahead + first));
            }
            for k in first..depth.min(first + LINE) {
                let mut b = [V::splat(0.0); NV];
                for v in 0..NV {
                    b[v] = V::load(panel.add(k * COLS + v * V::N));
                }
                for i in 0..ROWS {
                    let value = V::splat(*rows[i].add(k));
                    for v in 0..NV {
                        sums[i][v] = sums[i][v].add_product(value, b[v]);
                    }
                }
            }
            first += LINE;
        }
        sums
    }
}

/// A strip of six rows by a panel.
#[inline(always)]
#[allow(clippy::inline_always, reason = "compiled once per instruction set")]
unsafe fn strip_by_panel<V: Lanes, const NV: usize>(
    strip: *const f32,
    panel: *const f32,
    depth: usize,
) -> [[V; NV]; ROWS] {
    // SAFETY: the caller's pointers are good for `depth` columns and rows of the panel.
    unsafe {
        let mut sums = [[V::splat(0.0); NV]; ROWS];
        for k in 0..depth {
            let mut b = [V::splat(0.0); NV];
            for v in 0..NV {
                b[v] = V::load(panel.add(k * COLS + v * V::N));
            }
            for i in 0..ROWS {
                let value = V::splat(*strip.add(k * ROWS + i));
                for v in 0..NV {
                    sums[i][v] = sums[i][v].add_product(value, b[v]);
                }
            }
        }
        sums
    }
}
