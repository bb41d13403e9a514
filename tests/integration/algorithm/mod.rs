//! Tests the results of the algorithms, their transferred bytes, the verifier, and different orders of events.

mod algorithms;
mod contractions;
mod delays;
mod mutation;
mod nodes;
mod rings;
mod slicing;
mod verify;
