//! Tests that need more than one module: real files, downloads from a local server.

mod real;
