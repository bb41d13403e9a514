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
use einsum_dist::distribution::Distribution;
use einsum_dist::{
    Checkpoint, CheckpointError, DistTensor, Dtype, Element, Error, Machine, Plan, PlanOptions, Problem, World,
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

/// A plan with several slices. Slices cut the dimension a of the result and the summed dimension c.
fn plan(expression: &str, dtype: Dtype, (ranks, groups): (usize, usize)) -> Plan {
    let shapes = [vec![12, 6], vec![18, 6], vec![18, 15], vec![15, 7]];
    let shaped = Problem::parse(expression).unwrap().shapes(&shapes).unwrap();
    let workers = if ranks == 1 { rayon::current_num_threads() } else { 1 };
    let machine = Machine::new(ranks, workers);
    let options = PlanOptions::default().dtype(dtype).slice_groups(groups);
    let needed = shaped.plan(&Machine::new(1, workers), &PlanOptions::default().dtype(dtype)).unwrap().peak_bytes(0);
    let limits = (3..100).rev().map(|percent| options.clone().memory_limit(needed * percent / 100));
    let mut plans = limits.filter_map(|options| shaped.plan(&machine, &options).ok());
    let found = plans.find(|plan| plan.slice_rounds() > 2 && plan.slice_groups == groups);
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

/// Stops a run after two slices, and returns the checkpoint.
fn stopped(plan: &Plan, values: Values, folder: &Folder) -> Checkpoint {
    let flag = Arc::new(AtomicBool::new(false));
    let checkpoint = Checkpoint::new(folder.path().join("state")).every(Duration::ZERO);
    let raised = flag.clone();
    let stop = move |finished: usize, _: usize| raised.store(finished >= 2, Ordering::Relaxed);
    let stopping = checkpoint.clone().stop_when(flag);
    let Err(Error::Stopped { finished: 2, .. }) = run::<f64>(plan, values, Some(&stopping), stop) else {
        panic!("the run is not stopped after two slices")
    };
    checkpoint
}

#[test]
fn what_belongs_to_another_run_is_refused_and_stays() {
    let (ranks, folder) = ((3, 1), Folder::new("refused-checkpoints"));
    let own = plan(EXPRESSION, Dtype::Float64, ranks);
    let values = Values { beta: -1.0, ..VALUES };
    let checkpoint = stopped(&own, values, &folder);
    let before = files_of(folder.path());
    let refused = |plan: &Plan, values: Values| {
        let files = files_of(folder.path());
        let Err(Error::Checkpoint { why, .. }) = run::<f64>(plan, values, Some(&checkpoint), |_, _| ()) else {
            panic!("the checkpoint is not refused")
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
