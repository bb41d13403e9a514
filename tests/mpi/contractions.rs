//! Tests that contractions on MPI ranks agree with the reference and transfer the planned number of bytes.
//!
//! ```text
//! mpirun -n 4 mpi contractions                     transport by messages; a failed check ends all ranks
//! mpirun -n 4 mpi contractions shared              another transport
//! mpirun -n 4 mpi contractions shared,rma          several transports, which run every contraction one after the other
//! mpirun -n 64 mpi contractions shared random      only random contractions, for many ranks on few cores
//! mpirun -n 4 mpi contractions rma delays          every algorithm with random delays before tasks: always equal bits
//! mpirun -n 3 mpi contractions message file PATH   a .npy file of more than 2^31 elements, in blocks of all ranks
//! ```
//!
//! If `EINSUM_DIST_BYTES_FILE` is set, every rank appends one line to the file `$EINSUM_DIST_BYTES_FILE.<rank>`: `rank
//! bytes-sent bytes-received`, as measured by the transport over all runs. `tests/pmpi/count.c` writes the same numbers
//! independently, and `tests/pmpi/compare.sh` compares the two files.

use std::io::Write;

use crate::common::{Balance, Case, Rng, batched, large_file, same_bits};
use einsum_dist::comm::launcher::launcher;
use einsum_dist::plan::{AlgorithmName, FixedDistributions};
use einsum_dist::{Moved, Plan, World};

/// Number of random contractions per run of this program, unless `EINSUM_DIST_CASES` says another one.
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
    let transports = std::env::args().nth(2).unwrap_or_else(|| "message".to_owned());
    let world = |transport: &str| {
        World::mpi_by(transport.parse().expect("a transport")).unwrap_or_else(|error| {
            if launcher.rank == 0 {
                eprintln!("{error}");
            }
            std::process::exit(2)
        })
    };
    let mut worlds: Vec<World> = transports.split(',').map(world).collect();
    let passed = match std::env::args().nth(3).as_deref() {
        Some("delays") => {
            let passed: Vec<usize>;
            (worlds, passed) = worlds.into_iter().map(delays).unzip();
            passed.iter().sum()
        }
        Some("file") => {
            let path = std::env::args().nth(4).expect("where to write the file");
            worlds.iter().for_each(|world| large_file(world, path.as_ref()));
            worlds.len()
        }
        Some("random") => run_random(&worlds, |_| Vec::new()),
        Some(other) => panic!("no scenario `{other}`"),
        None => {
            let special: usize = worlds.iter().map(crate::common::special::special_values).sum();
            let others =
                |ranks| [matrix_products(ranks), batches(ranks), thesis(ranks)].into_iter().flatten().collect();
            special + run_random(&worlds, others)
        }
    };
    if worlds[0].is_root() {
        println!("by {}", worlds.iter().map(World::transport).collect::<Vec<_>>().join(", "));
        println!("{passed} passed, 0 failed");
    }
    let (rank, moved) = (worlds[0].local_ranks().start, worlds.iter().map(World::moved).collect::<Vec<_>>());
    if let Ok(file) = std::env::var("EINSUM_DIST_BYTES_FILE") {
        let mut file = std::fs::File::options().append(true).create(true).open(format!("{file}.{rank}")).unwrap();
        let [sent, received] = [|moved: &Moved| moved.sent, |moved: &Moved| moved.received]
            .map(|bytes| moved.iter().map(bytes).sum::<u64>());
        writeln!(file, "{rank} {sent} {received}").unwrap();
    }
    // The first world initialised MPI, so it is the last to finish.
    worlds.into_iter().rev().for_each(|world| world.finish().unwrap());
}

/// A planned contraction. All ranks plan the same contractions.
struct Test {
    case: Case,
    plan: Plan,
    seed: u64,
    accumulate: bool,
}

/// Verifies and runs contractions. Collective.
fn run(worlds: &[World], tests: &[Test]) {
    // All ranks have the same plans, so each rank verifies a part of them. They do so before the first run, because ranks
    // that wait for others would take processor time from the verifying rank.
    for test in tests.iter().skip(worlds[0].local_ranks().start).step_by(worlds[0].ranks()) {
        test.case.verify(&test.plan);
    }
    for Test { case, plan, seed, accumulate } in tests {
        case.run_on(worlds, plan, *seed, *accumulate);
    }
}

/// Runs random contractions and others, and returns how many runs passed. Collective.
fn run_random(worlds: &[World], others: impl Fn(usize) -> Vec<Test>) -> usize {
    let ranks = worlds[0].ranks();
    let (mut tests, balance) = random_contractions(ranks);
    tests.extend(others(ranks));
    run(worlds, &tests);
    if worlds[0].is_root() {
        println!("{ranks} ranks: {balance}");
    }
    tests.len() * worlds.len()
}

/// Random contractions. In every second one, the tensors have arbitrary distributions.
fn random_contractions(ranks: usize) -> (Vec<Test>, Balance) {
    let mut rng = Rng::new(ranks as u64);
    let mut balance = Balance::default();
    let mut test = |number: usize| {
        let case = Case::random(&mut rng);
        let accumulate = rng.below(3) == 0;
        let fixed = if number.is_multiple_of(2) {
            FixedDistributions::default()
        } else {
            case.random_distributions(&mut rng, ranks)
        };
        let plan = |algorithm| case.plan_fixed(ranks, algorithm, &fixed, false);
        let plan = balance.plan(&AlgorithmName::ALL, !case.is_empty(), plan).expect("local always applies");
        Test { case, plan, seed: number as u64, accumulate }
    };
    let cases = std::env::var("EINSUM_DIST_CASES").map_or(CASES, |cases| cases.parse().expect("a number of cases"));
    let tests = (0..cases).map(&mut test).collect();
    let applied = AlgorithmName::ALL.into_iter().zip(balance.filled);
    let mut applied = applied.filter(|(algorithm, _)| algorithm.ranks().allows(ranks));
    assert!(applied.all(|(_, filled)| filled >= MIN_NON_EMPTY_CASES.min(cases / 16)), "{balance}");
    (tests, balance)
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

/// A case with each algorithm and each choice of cut dimensions that applies.
fn with_cuts(ranks: usize, case: &Case, algorithms: &[AlgorithmName], cuts: &[&[&str]]) -> Vec<Test> {
    let each = algorithms.iter().flat_map(|&algorithm| cuts.iter().map(move |cut| (algorithm, cut)));
    let plans = each.filter_map(|(algorithm, cut)| case.plan_cut(ranks, algorithm, cut)).enumerate();
    plans.map(|(number, plan)| Test { case: case.clone(), plan, seed: 1, accumulate: number % 2 == 1 }).collect()
}

use AlgorithmName::{BatchParallel, Local, RingK, RingMn};

fn matrix_products(ranks: usize) -> Vec<Test> {
    let products = [false, true].map(|f64| {
        let case = Case::of("mk,kn->mn", [&[1023, 517], &[517, 771]], f64);
        let mut tests = with_cuts(ranks, &case, &[Local], &[&[]]);
        tests.extend(with_cuts(ranks, &case, &[RingMn], &[&["m"], &["n"]]));
        tests.extend(with_cuts(ranks, &case, &[RingK], &[&["k", "m"], &["k", "n"]]));
        assert_eq!(tests.len(), 5);
        tests
    });
    products.into_iter().flatten().collect()
}

fn batches(ranks: usize) -> Vec<Test> {
    let case = Case::of("cmk,ckn->cmn", [&[10, 33, 21], &[10, 21, 17]], true);
    let mut tests = with_cuts(ranks, &case, &[BatchParallel], &[&["c"]]);
    tests.extend(with_cuts(ranks, &case, &[RingMn], &[&["m"], &["n"]]));
    tests.extend(with_cuts(ranks, &case, &[RingK], &[&["k"]]));
    assert_eq!(tests.len(), 4);
    tests
}

/// The contraction from the thesis, cut along each dimension and each pair of dimensions.
fn thesis(ranks: usize) -> Vec<Test> {
    let expression = "[m0,c0,k0,k1,m1],[n0,c0,k0,n1,k1]->[m0,n0,c0,n1,m1]";
    let (left, right) = ([5, 4, 6, 3, 7], [6, 4, 6, 5, 3]);
    let names = ["c0", "m0", "m1", "n0", "n1", "k0", "k1"];
    let mut tests = Vec::new();
    for f64 in [false, true] {
        let case = Case::of(expression, [&left, &right], f64);
        for name in names {
            let alone = with_cuts(ranks, &case, &[BatchParallel, RingMn, RingK], &[&[name]]);
            assert_eq!(alone.len(), 1, "one algorithm cuts {name} first");
            tests.extend(alone);
        }
        // The expected pairs are an m and an n dimension for ring-mn, and a k dimension with an m or n dimension for
        // ring-k.
        let pairs: Vec<[&str; 2]> =
            names.iter().flat_map(|a| names.iter().map(move |b| [*a, *b])).filter(|[a, b]| a < b).collect();
        let pairs: Vec<&[&str]> = pairs.iter().map(<[&str; 2]>::as_slice).collect();
        let both = with_cuts(ranks, &case, &[RingMn, RingK], &pairs);
        assert_eq!(both.len(), 4 + 8, "pairs of dimensions to cut");
        tests.extend(both);
    }
    tests
}
