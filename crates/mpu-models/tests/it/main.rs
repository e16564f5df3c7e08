//! Networks held to a second way of computing them, to PyTorch, and to what is in their ONNX files.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod agreement;
mod golden;
mod networks;
mod onnx;
