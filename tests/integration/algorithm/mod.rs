//! Algorithms: results compared with the reference, bytes, verification, mutations of schedules, and orders of events.

mod algorithms;
mod contractions;
mod delays;
mod mutation;
mod rings;
mod slicing;
mod verify;
