//! Measures the overlap of transfers and computing on several hosts.
//!
//! Command, as root: `cargo bench --bench network -- [quick] [ALGORITHM...] [HOSTSxGBIT...]`.
//!
//! Hosts are network namespaces on this machine, which are joined by links with a given rate (`hosts.sh`). Each host
//! has one rank with one worker. Each host has its own share of this machine's cores. `EINSUM_DIST_MPIRUN` names the
//! launcher of the MPI library with which this program was built.
//!
//! Each algorithm multiplies matrices of f64 whose sizes make computing alone and transfers alone take about equally
//! long. "Alone" means the same schedule with only its work tasks or only its transfers ([`einsum_dist::exec::Only`]).
//! Every round measures computing, transfers, both with overlap, both without overlap, and computing with concurrent
//! plain TCP streams. The medians over all rounds are printed as CSV.
//!
//! ```text
//! plain           computing while plain streams transfer the bytes of the product in each direction: the speed that TCP
//!                 leaves to any program
//! exposed         time of transfers that no computing can hide, such as (a piece of) the first or the last block: time
//!                 of the plan simulated at the measured rates - max(compute, transfer)
//! bound           1.15 max(compute, transfer) + exposed
//! slowdown        time without overlap / time with overlap; required: at least 1.5
//! ```
//!
//! | file | content |
//! |---|---|
//! | `hosts.sh`, `launcher.sh` | creates hosts and links; runs an MPI program on them |
//! | `link` | measures the rate of plain TCP streams |
//! | `case` | defines algorithms and sizes |
//! | `table.py` | writes the table |

#[cfg(feature = "mpi")]
mod case;
#[cfg(feature = "mpi")]
mod link;
#[cfg(feature = "mpi")]
#[allow(dead_code, reason = "each benchmark uses its own part")]
#[path = "../product/mod.rs"]
mod product;
#[cfg(feature = "mpi")]
mod rank;

use std::process::Command;

/// Number of hosts and Gbit/s of their links, for each network. The requirements apply only to the first network.
const NETWORKS: [(usize, usize); 3] = [(2, 1), (4, 1), (2, 4)];

/// First argument of the processes that this program starts as ranks.
const RANK: &str = "rank";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let quick = arguments.iter().any(|argument| argument == "quick");
    if !cfg!(feature = "mpi") {
        eprintln!("hosts are for MPI: build with --features mpi");
        std::process::exit(2);
    }
    #[cfg(feature = "mpi")]
    if let [first, gbit, ..] = arguments.as_slice()
        && first == RANK
    {
        return rank::main(gbit, quick, &arguments[2..]);
    }
    println!("# {} cores", einsum_dist::api::host::cpus().len());
    println!(
        "hosts,gbit,mpi,algorithm,m,n,k,rounds,tcp,link,compute,transfer,plain,wall,in turns,exposed,bound,ratio,over plain,slowdown,most,hidden,fast"
    );
    let named = |hosts: usize, gbit: usize| arguments.contains(&format!("{hosts}x{gbit}"));
    let any = NETWORKS.iter().any(|&(hosts, gbit)| named(hosts, gbit));
    let wanted = |at: usize, hosts: usize, gbit: usize| if any { named(hosts, gbit) } else { at == 0 || !quick };
    for (_, &(hosts, gbit)) in NETWORKS.iter().enumerate().filter(|&(at, &(hosts, gbit))| wanted(at, hosts, gbit)) {
        let mut command = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/network/hosts.sh"));
        command.args([hosts.to_string(), format!("{gbit}gbit")]);
        command.arg(std::env::current_exe().expect("this program has a path"));
        command.args([RANK.to_owned(), gbit.to_string()]).args(&arguments);
        let status = command.status().expect("a script that can be run");
        if !status.success() {
            std::process::exit(status.code().unwrap_or(1));
        }
    }
}
