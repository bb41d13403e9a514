//! Tests whose ranks are processes: `mpirun -n RANKS PROGRAM contractions ..` and `PROGRAM transport ..`. Without
//! mpirun they do nothing.

#[path = "../common/mod.rs"]
mod common;

mod contractions;
mod transport;

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("contractions") => contractions::main(),
        Some("transport") => transport::main(),
        _ => println!("mpirun -n RANKS PROGRAM contractions|transport .., skipped"),
    }
}
