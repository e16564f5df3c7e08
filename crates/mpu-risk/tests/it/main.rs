//! The estimators held to an independent form, to enumeration, to differences, and to bad input.

mod agreement;
mod input;
mod population;
mod reference;
