//! `pxgemm`, `pxtran*` and `pxgeadd` of ScaLAPACK's PBLAS in four types: link or preload this library before ScaLAPACK.
//!
//! | file | contents |
//! |---|---|
//! | `symbols` | the exported functions |
//! | `gemm`, `add` | arguments, checks and quick returns of the routines, as in PBLAS |
//! | `descriptor`, `check` | array descriptors, and the codes of wrong arguments |
//! | `matrix` | a submatrix: its distribution, and the local part of it |
//! | `contraction` | plans, compiled per signature of a call, run on the caller's arrays |
//! | `context`, `blacs` | a world per BLACS context |
//!
//! Invariants: local arrays are used in place. Calls are collective over the context, from the thread that initialised
//! MPI. Errors end the program, as in PBLAS.

mod add;
mod blacs;
mod check;
mod context;
mod contraction;
mod descriptor;
mod gemm;
mod matrix;
mod symbols;
