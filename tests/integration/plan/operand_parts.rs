//! Tests operands that are read in parts because they exceed the memory limit. The elements must be the same as with
//! whole operands, the measured memory must equal the planned memory, and no part may be read again without need.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::parts::{Network, corner, peak, users, whole_numbers, within};
use crate::command::Folder;
use crate::common::Rng;
use einsum_dist::distribution::{Bounds, Distribution};
use einsum_dist::plan::{KernelChoice, ResultResidency};
use einsum_dist::{
    Checkpoint, CheckpointError, DistTensor, Dtype, Element, Error, Operand, OperandParts, Plan, PlanOptions, World,
};
use ndarray::ArrayD;
use num_complex::Complex;

fn options() -> PlanOptions {
    PlanOptions::default().operands_in_parts(true)
}

fn box_at(corner: &[usize], shape: &[usize]) -> Bounds {
    corner.iter().zip(shape).map(|(&start, &extent)| start..start + extent).collect()
}

/// Runs a plan twice, part of the result by part, and compares with the complete result on one rank.
fn check<T: Element>(network: &Network, plan: &Plan) {
    let what = format!("{network:?}\n{}", plan.explain());
    plan.verify().unwrap();
    let alone = network.plan(1, &PlanOptions::default().dtype(T::DTYPE)).unwrap();
    let whole: Vec<ArrayD<T>> = network.shapes.iter().enumerate().map(|(at, s)| whole_numbers(s, at)).collect();
    let borrowed: Vec<&dyn Operand<T>> = whole.iter().map(|operand| operand as _).collect();
    let prior = whole_numbers::<T>(&alone.output_shape(), 9);
    let world = World::in_process(plan.ranks());
    let reads = RefCell::new(vec![0usize; plan.operands]);
    let read = |index: usize, corner: &[usize], part: &mut DistTensor<T>| {
        reads.borrow_mut()[index] += part.shape().iter().product::<usize>();
        part.assign(within(&mut whole[index].clone(), &box_at(corner, part.shape())).view());
        Ok(())
    };
    let mut operands = OperandParts::new(&world, plan, read).unwrap();
    for (index, operand) in whole.iter().enumerate() {
        let is_in_parts = plan.operands_in_parts.contains(&index);
        assert_eq!(reads.borrow()[index], if is_in_parts { 0 } else { operand.len() }, "{what}");
    }
    let mut program = world.compile::<T>(plan).unwrap();
    let betas = if plan.accumulate { [0.0, -1.0] } else { [0.0; 2] };
    for (run, beta) in betas.into_iter().enumerate() {
        let (alpha, beta) = (T::from_f64(2.0, 1.0), T::from_f64(beta, 0.0));
        let mut want = prior.clone();
        World::single().compile::<T>(&alone).unwrap().run_into(alpha, &borrowed, beta, &mut want).unwrap();
        let mut got = ArrayD::from_elem(want.shape(), T::from_f64(f64::NAN, 0.0));
        let mut part = DistTensor::<T>::zeros(&world, &plan.part_shape(), &plan.output().distribution);
        reads.borrow_mut().fill(0);
        for number in 0..plan.part_count() {
            let bounds = plan.part_bounds(number);
            part.assign(within(&mut prior.clone(), &bounds).view());
            program.run_part_reading(number, alpha, &mut operands, beta, &mut part).unwrap();
            within(&mut got, &bounds).assign(&part.gather(&world).unwrap());
        }
        assert_eq!(got, want, "beta {beta:?}: {what}");
        for &index in &plan.operands_in_parts {
            assert_eq!(
                reads.borrow()[index],
                plan.operand_reads(index) * whole[index].len(),
                "operand {index}: {what}"
            );
        }
        let measured = program.measured().unwrap();
        // Packing for whole tensors, below, may leave a larger workspace.
        if run == 0 {
            assert_eq!(measured.iter().map(|rank| rank.peak_bytes).max(), Some(peak(plan)), "{what}");
        }
        // Whole operands are accepted too.
        let mut out = prior.clone();
        program.run_into(alpha, &borrowed, beta, &mut out).unwrap();
        assert_eq!(out, want, "{what}");
        let max_peak = program.measured().unwrap().iter().map(|rank| rank.peak_bytes).max();
        assert!(max_peak > Some(peak(plan)), "{what}");
    }
}

fn check_as(dtype: Dtype, network: &Network, plan: &Plan) {
    match dtype {
        Dtype::Float32 => check::<f32>(network, plan),
        Dtype::Float64 => check::<f64>(network, plan),
        Dtype::Complex64 => check::<Complex<f32>>(network, plan),
        Dtype::Complex128 => check::<Complex<f64>>(network, plan),
    }
}

#[test]
fn random_operands_are_read_in_parts() {
    let mut rng = Rng::new(11);
    // For each number of ranks: plans with operands in parts, those with a result in parts, those that read again.
    let (mut in_parts, mut both, mut again) = ([0; 4], [0; 4], 0);
    for case in 0..320 {
        let network = Network::random(&mut rng);
        let at = case % 4;
        let ranks = [1, 2, 3, 5][at];
        let dtype = [Dtype::Float32, Dtype::Float64, Dtype::Complex64, Dtype::Complex128][case / 4 % 4];
        let options = options().dtype(dtype).accumulate(rng.one_in(3)).in_parts(rng.one_in(2));
        let whole = network.plan(ranks, &options).unwrap();
        let (operands, result) = users(&whole);
        let limit = ((operands + result) * (1 + rng.below(9)) as u64 / 10).max(1);
        let plan = match network.plan(ranks, &options.memory_limit(limit)) {
            Ok(plan) => plan,
            Err(Error::Plan(_)) => continue,
            Err(error) => panic!("{error}: {network:?}"),
        };
        assert!(peak(&plan) <= limit, "{network:?}");
        if plan.operands_in_parts.is_empty() || plan.slice_count() * ranks > 400 {
            continue;
        }
        in_parts[at] += 1;
        both[at] += usize::from(plan.result == ResultResidency::InParts);
        again += usize::from(plan.operands_in_parts.iter().any(|&index| plan.operand_reads(index) > 1));
        check_as(dtype, &network, &plan);
    }
    println!("in parts {in_parts:?}, of these {both:?} with results in parts, {again} read again");
    assert!(in_parts.iter().all(|&count| count >= 10) && both.iter().sum::<usize>() >= 5 && again >= 3);
}

#[test]
fn trees_read_operands_in_parts() {
    for network in Network::trees(5) {
        let (operands, result) = users(&network.plan(1, &PlanOptions::default()).unwrap());
        let options = options().in_parts(true).memory_limit((operands + result) / 2);
        let Ok(plan) = network.plan(1, &options) else { continue };
        check::<f32>(&network, &plan);
    }
}

/// A product of an operand of 3,200 bytes and one of 96 bytes.
fn product() -> Network {
    let shapes = vec![vec![20, 20], vec![20, 3]];
    Network { expression: "ab,bc->ac".to_owned(), shapes, path: "auto".to_owned() }
}

#[test]
fn a_plan_says_which_operands_are_in_parts() {
    // The reference kernel needs no packing memory.
    let options = options().dtype(Dtype::Float64).kernel(KernelChoice::Reference);
    let plan = |limit| product().plan(1, &options.clone().memory_limit(limit));
    let enough = plan(3200 + 2 * 480).unwrap();
    assert_eq!((enough.slice_count(), &enough.operands_in_parts[..]), (1, &[][..]));
    let less = plan(3200 + 2 * 480 - 1).unwrap();
    assert_eq!((less.slice_count(), &less.operands_in_parts[..], less.operand_reads(0)), (2, &[0][..], 1));
    let text = less.explain().to_string();
    assert!(text.contains("\noperand   0 read in 2 parts; ranks store one part at a time\n"), "{text}");
    // The limit has room for the result, but not for the smallest parts of both operands.
    let error = plan(487).unwrap_err().to_string();
    assert!(error.starts_with("rank 0 needs "), "{error}");
    let error = plan(479).unwrap_err().to_string();
    assert_eq!(error, "rank 0 needs 480 bytes, 1 more than the memory limit of 479, for result alone");
    let refused = product().plan(1, &options.clone().operands_in_parts(false).memory_limit(3000)).unwrap_err();
    assert!(refused.to_string().ends_with("for operands and result alone"), "{refused}");
}

#[test]
fn files_of_any_order_and_type_are_read_in_parts() {
    let folder = Folder::new("operand-parts");
    let network = product();
    let whole: Vec<ArrayD<f32>> = network.shapes.iter().enumerate().map(|(at, s)| whole_numbers(s, at)).collect();
    let path = |name: &str| folder.path().join(name);
    for ranks in [1, 2, 3] {
        let world = World::in_process(ranks);
        for (at, array) in whole.iter().enumerate() {
            let mut tensor = DistTensor::zeros(&world, array.shape(), &Distribution::single());
            tensor.assign(array.view());
            tensor.write_npy(&world, path(&format!("{at}.npy"))).unwrap();
        }
        // The same elements in Fortran's order.
        let mut transposed = DistTensor::zeros(&world, &[20, 20], &Distribution::single());
        transposed.assign(whole[0].t());
        transposed.write_npy(&world, path("t.npy")).unwrap();
        let bytes = std::fs::read(path("t.npy")).unwrap();
        let header = String::from_utf8_lossy(&bytes[10..128]).replace("False", "True ");
        folder.write("0f.npy", &[&bytes[..10], header.as_bytes(), &bytes[128..]].concat());
        let limit = if ranks == 1 { 3000 } else { 1500 };
        let plan = network.plan(ranks, &options().dtype(Dtype::Float64).memory_limit(limit)).unwrap();
        assert!(plan.operands_in_parts.contains(&0), "{}", plan.explain());
        for first in ["0.npy", "0f.npy"] {
            let paths = [path(first), path("1.npy")];
            let read = |index: usize, corner: &[usize], part: &mut DistTensor<f64>| {
                part.read_npy(&world, &paths[index], corner)
            };
            let mut operands = OperandParts::new(&world, &plan, read).unwrap();
            let mut out = DistTensor::zeros(&world, &[20, 3], &plan.output().distribution);
            world.compile::<f64>(&plan).unwrap().run_part_reading(0, 1.0, &mut operands, 0.0, &mut out).unwrap();
            let [left, right] = [0, 1].map(|at| whole[at].mapv(f64::from));
            let want = einsum_dist::einsum(&network.expression, &[&left, &right]).unwrap();
            assert_eq!(out.gather(&world).unwrap(), want, "{first} on {ranks} ranks");
        }
    }
}

#[test]
fn random_parts_are_those_of_the_whole_operand() {
    let world = World::in_process(3);
    let whole = DistTensor::<Complex<f32>>::random(&world, &[7, 9], &Distribution::cut(1, 3), 4, 1);
    let whole = whole.gather(&world).unwrap();
    let mut part = DistTensor::<Complex<f32>>::zeros(&world, &[3, 5], &Distribution::cut(0, 3));
    part.fill_random(&[7, 9], &[2, 4], 4, 1).unwrap();
    assert_eq!(part.gather(&world).unwrap(), within(&mut whole.clone(), &vec![2..5, 4..9]));
}

#[test]
fn a_part_that_cannot_be_read_ends_the_run_and_is_read_again() {
    let plan = product().plan(1, &options().dtype(Dtype::Float64).memory_limit(3000)).unwrap();
    let world = World::single();
    let fails = Cell::new(false);
    let read = |index: usize, corner: &[usize], part: &mut DistTensor<f64>| {
        if fails.replace(false) {
            return Err(Error::Usage("the disk is gone".to_owned()));
        }
        let mut whole = whole_numbers::<f64>(&product().shapes[index], index);
        part.assign(within(&mut whole, &box_at(corner, part.shape())).view());
        Ok(())
    };
    let mut operands = OperandParts::new(&world, &plan, read).unwrap();
    let mut program = world.compile::<f64>(&plan).unwrap();
    let mut out = DistTensor::zeros(&world, &[20, 3], &Distribution::single());
    program.run_part_reading(0, 1.0, &mut operands, 0.0, &mut out).unwrap();
    let want = out.gather(&world).unwrap();
    fails.set(true);
    let error = program.run_part_reading(0, 1.0, &mut operands, 0.0, &mut out).unwrap_err().to_string();
    assert_eq!(error, "the disk is gone");
    program.run_part_reading(0, 1.0, &mut operands, 0.0, &mut out).unwrap();
    assert_eq!(out.gather(&world).unwrap(), want);
    assert_eq!(corner(&plan.part_bounds(0)), [0, 0]);
}

#[test]
fn a_run_with_parts_continues_from_its_checkpoint() {
    for ranks in [1, 3] {
        let options = options().dtype(Dtype::Float64).memory_limit(if ranks == 1 { 2000 } else { 900 });
        let plan = product().plan(ranks, &options).unwrap();
        assert!(plan.slice_count() > 2 && plan.operands_in_parts == [0], "{}", plan.explain());
        let folder = Folder::new("operand-parts-checkpoint");
        let checkpoint = Checkpoint::new(folder.path().join("state")).every(Duration::ZERO);
        let world = World::in_process(ranks);
        let run = |seed: u64, checkpoint: Option<&Checkpoint>, stop: Option<Arc<AtomicBool>>| {
            let fill = |index: usize, corner: &[usize], part: &mut DistTensor<f64>| {
                part.fill_random(&product().shapes[index], corner, seed, index as u32)
            };
            let mut operands = OperandParts::new(&world, &plan, fill)?;
            let mut program = world.compile::<f64>(&plan)?;
            program.on_slice(move |finished, _| {
                stop.iter().for_each(|flag| flag.store(finished >= 2, Ordering::Relaxed));
            });
            let mut out = DistTensor::zeros(&world, &[20, 3], &plan.output().distribution);
            match checkpoint {
                Some(checkpoint) => {
                    program.run_reading_with_checkpoint(checkpoint, 1.0, &mut operands, 0.0, &mut out)?;
                }
                None => program.run_part_reading(0, 1.0, &mut operands, 0.0, &mut out)?,
            }
            Ok((out.gather(&world)?, program.resumed_slices()))
        };
        let (want, _) = run(1, None, None).unwrap();
        let flag = Arc::new(AtomicBool::new(false));
        let stopped = run(1, Some(&checkpoint.clone().stop_when(flag.clone())), Some(flag));
        assert!(matches!(stopped, Err(Error::Stopped { finished: 2, .. })), "{stopped:?}");
        let other = run(2, Some(&checkpoint), None);
        assert!(
            matches!(other, Err(Error::Checkpoint { why: CheckpointError::Operand(0), .. })),
            "{other:?} on {ranks} ranks"
        );
        assert_eq!(run(1, Some(&checkpoint), None).unwrap(), (want, 2), "{ranks} ranks");
    }
}
