//! Runs tests whose ranks are processes. The commands are `mpirun -n RANKS PROGRAM contractions ..` and `mpirun -n
//! RANKS PROGRAM transport ..`. Without mpirun, the tests do nothing.

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
