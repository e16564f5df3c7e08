//! The only module with `unsafe` code: vector kernels chosen at run time.
//!
//! | module | what it computes |
//! |---|---|
//! | [`isa`] | which vector instructions the processor has |
//! | [`rows`] | passes over rows of numbers with one coefficient per column |
//! | [`tile`] | products of a perceptron, with one operand in panels |
//! | [`panels`] | passes over panels, and the ways into and out of them |
//! | [`matmul`] | other matrix products, by the `gemm` crate |
//! | [`conv`] | direct 3×3 convolution |
//! | [`filters`] | the gradient of its filters |
//!
//! Passes over rows are ordinary safe functions compiled once per instruction set: the plain
//! compilation is the twin of the others and gives the same bits. The convolution kernels are
//! written over [`lanes::Lanes`]; their twins are the plain loops in the tests of
//! [`Filter`](crate::fused).

#![allow(
    unsafe_code,
    reason = "vector instructions and the gemm crate's interface need it; every kernel is \
              compared with a safe twin"
)]

pub(crate) mod conv;
pub(crate) mod filters;
pub(crate) mod isa;
pub(crate) mod lanes;
pub(crate) mod matmul;
pub(crate) mod panels;
pub(crate) mod rows;
pub(crate) mod tile;
