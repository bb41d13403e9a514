//! Tests checkpoints. A run that continues from the files of any moment must produce the bits of an undisturbed run, and
//! files that do not belong to the run must be refused and stay as they are.
//!
//! The files are copied after every slice, as they would be after a kill. `tests/checkpoints.py` kills the program.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::command::Folder;
use crate::common::Rng;
use crate::networks::network;
use einsum_dist::distribution::Distribution;
use einsum_dist::{
    Checkpoint, CheckpointError, DistTensor, Dtype, Element, Error, Machine, PathChoice, Plan, PlanOptions, Problem,
    World,
};
use num_complex::Complex;

type Files = BTreeMap<String, Vec<u8>>;

fn files_of(folder: &Path) -> Files {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries.map(|file| (file.file_name().into_string().unwrap(), std::fs::read(file.path()).unwrap())).collect()
}

/// Replaces all files of a folder.
fn replace(folder: &Path, files: &Files) {
    files_of(folder).keys().for_each(|name| std::fs::remove_file(folder.join(name)).unwrap());
    files.iter().for_each(|(name, bytes)| std::fs::write(folder.join(name), bytes).unwrap());
}

/// A plan with several slices, in which not only rank 0 has a sum. Slices cut the dimension a of the result and the summed
/// dimension c.
fn plan(expression: &str, dtype: Dtype, (ranks, groups): (usize, usize)) -> Plan {
    let shapes = [vec![26, 6], vec![18, 6], vec![18, 29], vec![29, 7]];
    let shaped = Problem::parse(expression).unwrap().shapes(&shapes).unwrap();
    let workers = if ranks == 1 { rayon::current_num_threads() } else { 1 };
    let machine = Machine::new(ranks, workers);
    let options = PlanOptions::default().dtype(dtype).slice_groups(groups);
    let needed = shaped.plan(&Machine::new(1, workers), &PlanOptions::default().dtype(dtype)).unwrap().peak_bytes(0);
    let limits = (3..100).rev().map(|percent| options.clone().memory_limit(needed * percent / 100));
    let mut plans = limits.filter_map(|options| shaped.plan(&machine, &options).ok());
    let found = plans.find(|plan| {
        let whole = ranks == 1 || groups > 1 || plan.placement(plan.output()) != "rank 0";
        plan.slice_rounds() > 2 && plan.slice_groups == groups && whole
    });
    found.unwrap_or_else(|| panic!("no sliced plan on {ranks} ranks in {groups} groups"))
}

const EXPRESSION: &str = "[[ai,bi->abi],bc->aci],cd->ad";

/// The values that determine a run besides its plan.
#[derive(Clone, Copy)]
struct Values {
    seeds: [u64; 2],
    alpha: f64,
    beta: f64,
    prior: u64,
}

const VALUES: Values = Values { seeds: [1, 1], alpha: 0.75, beta: 0.0, prior: 5 };

/// Returns the bits of the result, and the number of slices from the checkpoint.
fn run<T: Element>(
    plan: &Plan,
    values: Values,
    checkpoint: Option<&Checkpoint>,
    on_slice: impl Fn(usize, usize) + 'static,
) -> Result<(Vec<[u64; 2]>, usize), Error> {
    let world = World::in_process(plan.ranks());
    let mut program = world.compile::<T>(plan)?;
    program.on_slice(on_slice);
    let random = |shape: &[usize], distribution: &Distribution, seed, at: usize| {
        DistTensor::<T>::random(&world, shape, distribution, seed, at as u32)
    };
    let operand = |at: usize| {
        random(&plan.operand_shape(at), &plan.operand(at).distribution, values.seeds[usize::from(at == 2)], at)
    };
    let operands: Vec<DistTensor<T>> = (0..plan.operands).map(operand).collect();
    let operands: Vec<&DistTensor<T>> = operands.iter().collect();
    let mut out = random(&plan.output_shape(), &plan.output().distribution, values.prior, 9);
    let (alpha, beta) = (T::from_f64(values.alpha, 0.5), T::from_f64(values.beta, 0.0));
    match checkpoint {
        Some(checkpoint) => program.run_dist_with_checkpoint(checkpoint, alpha, &operands, beta, &mut out)?,
        None => program.run_dist(alpha, &operands, beta, &mut out)?,
    }
    let bits = out.gather(&world)?.iter().map(|x| [x.to_c64().re.to_bits(), x.to_c64().im.to_bits()]).collect();
    Ok((bits, program.resumed_slices()))
}

/// Continues a run from the files of every slice.
fn continues<T: Element>(plan: &Plan, beta: f64) {
    let what = format!("beta {beta}, {}", plan.explain());
    let values = Values { beta, ..VALUES };
    let (want, _) = run::<T>(plan, values, None, |_, _| ()).unwrap();
    let folder = Folder::new("checkpoints");
    let checkpoint = Checkpoint::new(folder.path().join("state")).every(Duration::ZERO);
    let moments = Rc::new(RefCell::new(Vec::new()));
    let (sink, path) = (moments.clone(), folder.path().to_owned());
    let copy = move |finished: usize, _: usize| sink.borrow_mut().push((finished, files_of(&path)));
    assert_eq!(run::<T>(plan, values, Some(&checkpoint), copy).unwrap(), (want.clone(), 0), "{what}");
    assert_eq!(moments.borrow().len(), plan.slice_rounds(), "{what}");
    let last = moments.borrow().last().unwrap().0;
    assert_eq!(last, plan.slice_count());
    for (round, (_, files)) in moments.borrow().iter().enumerate() {
        replace(folder.path(), files);
        let first = Rc::new(RefCell::new(None));
        let seen = first.clone();
        let note = move |finished, _| _ = seen.borrow_mut().get_or_insert(finished);
        let rarely = checkpoint.clone().every(Duration::from_secs(60));
        let (got, resumed) = run::<T>(plan, values, Some(&rarely), note).unwrap();
        assert!(got == want, "from slice {round}: {what}");
        let each = (0..plan.slice_groups).map(|group| plan.slices_of_group(group).len().min(round));
        assert_eq!(resumed, each.sum::<usize>(), "{what}");
        let next = ((round + 1) * plan.slice_groups).min(plan.slice_count());
        assert_eq!(*first.borrow(), Some(next), "{what}");
    }
    checkpoint.remove(&World::in_process(plan.ranks())).unwrap();
    assert!(folder.files().is_empty(), "{:?}", folder.files());
}

#[test]
fn a_run_continues_with_the_same_bits_from_every_slice() {
    for ranks in [(1, 1), (3, 1), (3, 3), (5, 2)] {
        for beta in [0.0, -1.0] {
            continues::<f64>(&plan(EXPRESSION, Dtype::Float64, ranks), beta);
        }
    }
    continues::<f32>(&plan(EXPRESSION, Dtype::Float32, (1, 1)), 0.5);
    continues::<Complex<f32>>(&plan(EXPRESSION, Dtype::Complex64, (3, 1)), 0.0);
    continues::<Complex<f64>>(&plan(EXPRESSION, Dtype::Complex128, (3, 3)), 0.0);
}

/// Stops a run after two slices.
fn stop(plan: &Plan, values: Values, checkpoint: &Checkpoint) {
    let flag = Arc::new(AtomicBool::new(false));
    let raised = flag.clone();
    let stop = move |finished: usize, _: usize| raised.store(finished >= 2, Ordering::Relaxed);
    let stopping = checkpoint.clone().stop_when(flag);
    let Err(Error::Stopped { finished: 2, .. }) = run::<f64>(plan, values, Some(&stopping), stop) else {
        panic!("the run is not stopped after two slices")
    };
}

/// A search that depends on the speed of the machine, and its measured rates, may lead to another plan.
#[test]
fn a_run_that_continues_has_the_plan_of_the_interrupted_run() {
    let mut rng = Rng::new(5);
    let edges: Vec<(usize, usize)> =
        (0..24).flat_map(|from| [(from, (from + 1) % 24), (from, (from + 2 + rng.below(20)) % 24)]).collect();
    let problem = Problem::parse(&network(24, &edges)).unwrap();
    let shapes: Vec<_> = problem.expression().operands().map(|term| vec![2; term.indices.len()]).collect();
    let shaped = problem.shapes(&shapes).unwrap();
    let speeds = [(1e-3, 8e10), (0.1, 8e10)];
    let cases = [
        (PathChoice::Anneal, Some(1.0), speeds),
        (PathChoice::Auto, Some(1.0), speeds),
        (PathChoice::Auto, None, [(1.0, 8e10), (1.0, 2.5e4)]),
    ];
    for (path, seconds, speeds) in cases {
        let options = PlanOptions::default().dtype(Dtype::Float64).memory_limit(1 << 14).path(path.clone());
        let runs = speeds.map(|(speed, flops)| {
            let options = options.clone().path_seconds(seconds).path_speed(speed);
            (options, Machine { flops, ..Machine::new(1, 1) })
        });
        let [own, other] = [0, 1].map(|at| shaped.plan(&runs[at].1, &runs[at].0).unwrap());
        assert!(own.slice_rounds() > 2 && own.path != other.path, "{path:?} {seconds:?}");
        let folder = Folder::new("checkpoints-with-paths");
        let world = World::in_process(1);
        let open = || Checkpoint::open(&world, folder.path().join("state")).unwrap().every(Duration::ZERO);
        let (mut checkpoint, (options, machine)) = (open(), &runs[0]);
        let plan = checkpoint.plan(&shaped, machine, options).unwrap();
        assert_eq!(plan, own);
        let (want, _) = run::<f64>(&plan, VALUES, None, |_, _| ()).unwrap();
        stop(&plan, VALUES, &checkpoint);
        let mut checkpoint = open();
        // The limit may have been chosen because of other free memory.
        let again = checkpoint.plan(&shaped, &runs[1].1, &runs[1].0.clone().memory_limit(None)).unwrap();
        assert_eq!(again, plan);
        assert_eq!(run::<f64>(&again, VALUES, Some(&checkpoint), |_, _| ()).unwrap(), (want, 2));
        let foreign = Checkpoint::new(folder.path().join("state"));
        let refused = run::<f64>(&other, VALUES, Some(&foreign), |_, _| ());
        assert!(matches!(refused, Err(Error::Checkpoint { why: CheckpointError::Plan, .. })));
    }
}

#[test]
fn what_belongs_to_another_run_is_refused_and_stays() {
    let (ranks, folder) = ((3, 1), Folder::new("refused-checkpoints"));
    let own = plan(EXPRESSION, Dtype::Float64, ranks);
    let values = Values { beta: -1.0, ..VALUES };
    let checkpoint = Checkpoint::new(folder.path().join("state")).every(Duration::ZERO);
    stop(&own, values, &checkpoint);
    let before = files_of(folder.path());
    let refused = |plan: &Plan, values: Values| {
        let files = files_of(folder.path());
        let outcome = run::<f64>(plan, values, Some(&checkpoint), |_, _| ());
        let Err(Error::Checkpoint { why, .. }) = outcome else {
            panic!("not refused: {:?}, with the files {:?}", outcome.map(|(_, resumed)| resumed), files.keys())
        };
        assert!(files_of(folder.path()) == files, "files are changed: {why}");
        why
    };
    let other = plan("[[ai,bi->abi],bc->aci],cd->da", Dtype::Float64, ranks);
    assert!(matches!(refused(&other, values), CheckpointError::Plan));
    assert!(matches!(refused(&own, Values { alpha: 0.5, ..values }), CheckpointError::Factors));
    assert!(matches!(refused(&own, Values { seeds: [2, 1], ..values }), CheckpointError::Operand(0)));
    assert!(matches!(refused(&own, Values { seeds: [1, 2], ..values }), CheckpointError::Operand(2)));
    assert!(matches!(refused(&own, Values { prior: 6, ..values }), CheckpointError::Prior));
    for (name, bytes) in &before {
        for changed in [vec![], bytes[..bytes.len() / 2].to_vec(), [&bytes[..], b"\n"].concat(), b"other".to_vec()] {
            let mut files = before.clone();
            files.insert(name.clone(), changed);
            replace(folder.path(), &files);
            // The sum of the generation before is not read, so it is refused only if it is no sum at all.
            let old = name.ends_with("-1") && files[name].starts_with(b"einsum-dist sum\n");
            if !old {
                refused(&own, values);
            }
        }
    }
    let mut files = before.clone();
    files.remove("state.rank1-0");
    replace(folder.path(), &files);
    assert!(matches!(refused(&own, values), CheckpointError::Damaged(_)));
    files.remove("state");
    files.insert("state.rank2-1".to_owned(), b"the user's".to_vec());
    replace(folder.path(), &files);
    assert!(matches!(refused(&own, values), CheckpointError::Foreign));
    replace(folder.path(), &before);
    let want = run::<f64>(&own, values, None, |_, _| ()).unwrap().0;
    assert_eq!(run::<f64>(&own, values, Some(&checkpoint), |_, _| ()).unwrap(), (want, 2));
}
