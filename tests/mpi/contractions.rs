//! Tests that contractions on MPI ranks agree with the reference and transfer the planned number of bytes.
//!
//! ```text
//! mpirun -n 4 mpi contractions                     transport by messages; a failed check ends all ranks
//! mpirun -n 4 mpi contractions shared              another transport
//! mpirun -n 4 mpi contractions rma delays          every algorithm with random delays before tasks: always equal bits
//! mpirun -n 3 mpi contractions message file PATH   a .npy file of more than 2^31 elements, in blocks of all ranks
//! ```
//!
//! If `EINSUM_DIST_BYTES_FILE` is set, every rank appends one line to the file `$EINSUM_DIST_BYTES_FILE.<rank>`: `rank
//! bytes-sent bytes-received`, as measured by the transport over all runs. `tests/pmpi/count.c` writes the same numbers
//! independently, and `tests/pmpi/compare.sh` compares the two files.

use std::io::Write;

use crate::common::{Balance, Case, Rng, batched, large_file, same_bits};
use einsum_dist::World;
use einsum_dist::comm::Transport;
use einsum_dist::comm::launcher::launcher;
use einsum_dist::plan::{AlgorithmName, FixedDistributions};

/// Number of random contractions per run of this program.
const CASES: usize = 800;

/// Minimum number of non-empty cases per algorithm in one run of this program. `make test` runs the program on several
/// numbers of ranks, which gives more than 200 non-empty cases per algorithm in total.
const MIN_NON_EMPTY_CASES: usize = 70;

/// Number of runs with delays per algorithm.
const DELAYED: u64 = 200;

pub fn main() {
    let Some(launcher) = launcher() else {
        println!("not under mpirun, skipped");
        return;
    };
    let transport = std::env::args().nth(2).map_or(Ok(Transport::Message), |name| name.parse());
    let world = World::mpi_by(transport.expect("a transport")).unwrap_or_else(|error| {
        if launcher.rank == 0 {
            eprintln!("{error}");
        }
        std::process::exit(2)
    });
    let (world, passed) = match std::env::args().nth(3).as_deref() {
        Some("delays") => delays(world),
        Some("file") => {
            let path = std::env::args().nth(4).expect("where to write the file");
            large_file(&world, path.as_ref());
            (world, 1)
        }
        Some(other) => panic!("no scenario `{other}`"),
        None => {
            let passed = random_contractions(&world) + matrix_products(&world) + batches(&world) + thesis(&world);
            let special = crate::common::special::special_values(&world);
            (world, passed + special)
        }
    };
    if world.is_root() {
        println!("by {}", world.transport());
        println!("{passed} passed, 0 failed");
    }
    let (rank, moved) = (world.local_ranks().start, world.moved());
    if let Ok(file) = std::env::var("EINSUM_DIST_BYTES_FILE") {
        let mut file = std::fs::File::options().append(true).create(true).open(format!("{file}.{rank}")).unwrap();
        writeln!(file, "{rank} {} {}", moved.sent, moved.received).unwrap();
    }
    world.finish().unwrap();
}

/// Runs random contractions. All ranks generate the same cases. In every second case, the tensors have arbitrary
/// distributions.
fn random_contractions(world: &World) -> usize {
    let ranks = world.ranks();
    let mut rng = Rng::new(ranks as u64);
    let mut balance = Balance::default();
    for number in 0..CASES {
        let case = Case::random(&mut rng);
        let accumulate = rng.below(3) == 0;
        let fixed =
            if number % 2 == 0 { FixedDistributions::default() } else { case.random_distributions(&mut rng, ranks) };
        let plan = |algorithm| case.plan_fixed(ranks, algorithm, &fixed, false);
        let plan = balance.plan(&AlgorithmName::ALL, !case.is_empty(), plan).expect("local always applies");
        case.check(world, &plan, number as u64, accumulate);
    }
    if world.is_root() {
        println!("{ranks} ranks: {balance}");
    }
    let applied = AlgorithmName::ALL.into_iter().zip(balance.filled);
    let mut applied = applied.filter(|(algorithm, _)| algorithm.ranks().allows(ranks));
    assert!(applied.all(|(_, filled)| filled >= MIN_NON_EMPTY_CASES), "{balance}");
    CASES
}

fn delays(mut world: World) -> (World, usize) {
    let ranks = world.ranks();
    let applicable = AlgorithmName::ALL.into_iter().filter(|name| name.ranks().allows(ranks));
    let mut passed = 0;
    for algorithm in applicable {
        world = same_bits(world, &batched(ranks, algorithm), 0..DELAYED);
        passed += DELAYED as usize;
    }
    (world, passed)
}

/// Runs a case with each algorithm and each choice of cut dimensions. Returns the number of combinations that apply.
fn check_cuts(world: &World, case: &Case, algorithms: &[AlgorithmName], cuts: &[&[&str]]) -> usize {
    let mut ran = 0;
    for &algorithm in algorithms {
        for cut in cuts {
            if let Some(plan) = case.plan_cut(world.ranks(), algorithm, cut) {
                case.check(world, &plan, 1, ran % 2 == 1);
                ran += 1;
            }
        }
    }
    ran
}

use AlgorithmName::{BatchParallel, Local, RingK, RingMn};

fn matrix_products(world: &World) -> usize {
    let products = [false, true].map(|f64| {
        let case = Case::of("mk,kn->mn", [&[1023, 517], &[517, 771]], f64);
        check_cuts(world, &case, &[Local], &[&[]])
            + check_cuts(world, &case, &[RingMn], &[&["m"], &["n"]])
            + check_cuts(world, &case, &[RingK], &[&["k", "m"], &["k", "n"]])
    });
    assert_eq!(products, [5, 5]);
    10
}

fn batches(world: &World) -> usize {
    let case = Case::of("cmk,ckn->cmn", [&[10, 33, 21], &[10, 21, 17]], true);
    let ran = check_cuts(world, &case, &[BatchParallel], &[&["c"]])
        + check_cuts(world, &case, &[RingMn], &[&["m"], &["n"]])
        + check_cuts(world, &case, &[RingK], &[&["k"]]);
    assert_eq!(ran, 4);
    ran
}

/// Runs the contraction from the thesis, cut along each dimension and each pair of dimensions.
fn thesis(world: &World) -> usize {
    let expression = "[m0,c0,k0,k1,m1],[n0,c0,k0,n1,k1]->[m0,n0,c0,n1,m1]";
    let (left, right) = ([5, 4, 6, 3, 7], [6, 4, 6, 5, 3]);
    let names = ["c0", "m0", "m1", "n0", "n1", "k0", "k1"];
    let mut ran = 0;
    for f64 in [false, true] {
        let case = Case::of(expression, [&left, &right], f64);
        for name in names {
            let alone = check_cuts(world, &case, &[BatchParallel, RingMn, RingK], &[&[name]]);
            assert_eq!(alone, 1, "one algorithm cuts {name} first");
            ran += alone;
        }
        // The expected pairs are an m and an n dimension for ring-mn, and a k dimension with an m or n dimension for
        // ring-k.
        let pairs: Vec<[&str; 2]> =
            names.iter().flat_map(|a| names.iter().map(move |b| [*a, *b])).filter(|[a, b]| a < b).collect();
        let pairs: Vec<&[&str]> = pairs.iter().map(<[&str; 2]>::as_slice).collect();
        let both = check_cuts(world, &case, &[RingMn, RingK], &pairs);
        assert_eq!(both, 4 + 8, "pairs of dimensions to cut");
        ran += both;
    }
    ran
}
