//! Distributes operands, compiles the program once and runs it as often as requested.
//!
//! A run's time is that of all parts of the result (usually one), including reading operands in parts; other operands
//! are read before the first run. The last run is checked and written.

use std::cell::Cell;
use std::time::Instant;

use einsum_dist::api::host;
use einsum_dist::dtype::Dtype;
use einsum_dist::report::Seconds;
use einsum_dist::{DistTensor, Element, OperandParts, Program, World};
use num_complex::Complex;

use super::config::RunConfig;
use super::explain::where_ranks_are;
use super::failure::say;
use super::print::Outcome;
use super::result_sink::ResultSink;
use super::start::gather;
use super::{Result, progress, range, signals, trace_files, units};

pub fn run(world: &World, config: &RunConfig) -> Result<Outcome> {
    world.check_memory(&config.plan, 0)?;
    if config.args.verbose && config.args.check && world.is_root() {
        say!("check     in {} beside the run", units::bytes(config.check_bytes as f64));
    }
    if config.args.verbose {
        let placement = where_ranks_are(host::topology()?, &world.places()?);
        if world.is_root() {
            let sampled = config.plan.sampled_schedules();
            let (explained, kernel) = (config.plan.explain_with(&sampled), config.kernel(&sampled));
            say!("{explained}\n{placement}kernel    {kernel}\n");
        }
    }
    match config.plan.dtype {
        Dtype::Float32 => typed::<f32>(world, config),
        Dtype::Float64 => typed::<f64>(world, config),
        Dtype::Complex64 => typed::<Complex<f32>>(world, config),
        Dtype::Complex128 => typed::<Complex<f64>>(world, config),
    }
}

fn typed<T: Element>(world: &World, config: &RunConfig) -> Result<Outcome> {
    let plan = &config.plan;
    let reading = Cell::new(0.0);
    let mut operands = OperandParts::<T>::new(world, plan, |index, corner, part| {
        let started = Instant::now();
        let read = read(world, config, index, corner, part);
        reading.set(reading.get() + started.elapsed().as_secs_f64());
        read
    })?;
    let mut apart = 0;
    for operand in operands.tensors().iter_mut().filter(|_| config.args.exponent) {
        apart += i64::from(operand.split_exponent(world)?);
    }
    let mut part = DistTensor::<T>::try_zeros(world, &plan.part_shape(), &plan.output().distribution)?;
    let mut sink = ResultSink::new(world, config)?;
    let started = Instant::now();
    let mut program = world.compile::<T>(plan)?;
    let compile_seconds = started.elapsed().as_secs_f64();
    progress::show(world, config, &mut program);
    let beta = if config.args.accumulate.is_some() { T::ONE } else { T::ZERO };
    let (warmup, repeat) = (config.args.warmup as usize, config.args.repeat.get() as usize);
    let runs = warmup + repeat;
    let (mut seconds, mut exponent, mut finite) = (Vec::new(), None, true);
    for run in 0..runs {
        let mut took = 0.0;
        reading.set(0.0);
        for number in 0..plan.part_count() {
            let corner: Vec<usize> = plan.part_bounds(number).iter().map(|range| range.start).collect();
            if let Some(prior) = &config.args.accumulate {
                part.read_npy(world, prior, &corner)?;
                finite &= part.largest(world)?.is_finite();
            }
            barrier(world)?;
            let started = Instant::now();
            exponent = compute(config, &mut program, number, (&mut operands, beta), &mut part)?.map(|own| apart + own);
            took += started.elapsed().as_secs_f64();
            if run + 1 == runs {
                sink.consume(&part, &corner, exponent.unwrap_or(0))?;
            }
        }
        if run >= warmup {
            seconds.push(took);
        }
    }
    let seconds = slowest(world, &seconds)?;
    let measured = program.measured()?;
    let (kernel, resumed_slices) = (program.kernel(), program.resumed_slices());
    let (norm, check, overflow) = sink.end()?;
    let exponent = exponent.map(|exponent| if norm == 0.0 { 0 } else { exponent });
    let reading_seconds = reading.get();
    let out_of_range = range::examine(world, config, &mut operands, finite, norm)?;
    if let Some(checkpoint) = config.checkpoint.as_ref().filter(|_| check.is_none_or(|check| check.ok)) {
        checkpoint.remove(world)?;
    }
    let trace_error = if trace_files::wanted(config) {
        trace_files::write(world, config, program.timeline()?.as_ref())?
    } else {
        None
    };
    Ok(Outcome {
        measured,
        compile_seconds,
        seconds,
        reading_seconds,
        resumed_slices,
        norm,
        exponent,
        out_of_range,
        check,
        overflow,
        kernel,
        trace_error,
    })
}

/// Computes a part of the result. With `--exponent`, returns the exponent kept apart.
fn compute<T: Element>(
    config: &RunConfig,
    program: &mut Program<T>,
    number: usize,
    (operands, beta): (&mut OperandParts<T>, T),
    part: &mut DistTensor<T>,
) -> einsum_dist::Result<Option<i64>> {
    if let Some(checkpoint) = &config.checkpoint {
        let stopping = signals::Stopping::new();
        let checkpoint = checkpoint.clone().stop_when(stopping.flag());
        program.run_reading_with_checkpoint(&checkpoint, T::ONE, operands, beta, part)?;
    } else if config.args.exponent {
        let whole: Vec<&DistTensor<T>> = operands.tensors().iter().collect();
        return program.run_dist_with_exponent(&whole, part).map(Some);
    } else {
        program.run_part_reading(number, T::ONE, operands, beta, part)?;
    }
    Ok(None)
}

fn read<T: Element>(
    world: &World,
    config: &RunConfig,
    index: usize,
    corner: &[usize],
    part: &mut DistTensor<T>,
) -> einsum_dist::Result<()> {
    match config.args.operands.get(index) {
        Some(path) => part.read_npy(world, path, corner),
        None => part.fill_random(&config.plan.operand_shape(index), corner, config.args.seed, index as u32),
    }
}

fn barrier(world: &World) -> Result<()> {
    world.all_gather(&[])?;
    Ok(())
}

fn slowest(world: &World, mine: &[f64]) -> Result<Seconds> {
    let mut runs = vec![0.0; mine.len()];
    for theirs in gather(world, mine)? {
        runs.iter_mut().zip(theirs).for_each(|(run, seconds)| *run = f64::max(*run, seconds));
    }
    runs.sort_by(f64::total_cmp);
    let middle = runs.len() / 2;
    let median = if runs.len() % 2 == 1 { runs[middle] } else { (runs[middle - 1] + runs[middle]) / 2.0 };
    Ok(Seconds { min: runs[0], median, max: runs[runs.len() - 1], runs: runs.len() })
}
