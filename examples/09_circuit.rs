//! Simulates a quantum circuit with 20 qubits and 12 layers. A single plan contracts hundreds of small tensors with
//! hundreds of dimensions.
//!
//! Every layer rotates each qubit and then couples neighbouring qubits. A wire between two gates is a dimension with a
//! name: `q7_3` is qubit 7 after three gates. There are only a few distinct gate arrays, and every gate of the circuit
//! borrows one of these arrays as its operand.
//!
//! `cargo run --release --example 09_circuit`

mod numpy;

use std::collections::HashMap;

use einsum_dist::PathReport;
use einsum_dist::ndarray::{ArrayD, Axis};
use einsum_dist::{Dtype, Element, Machine, Operand, Plan, PlanOptions, Problem, World};
use num_complex::Complex;

type Amplitudes = ArrayD<Complex<f32>>;
type Failure = Box<dyn std::error::Error>;

/// A circuit, represented as an expression and its operands.
struct Circuit {
    text: String,
    /// The array name of each operand.
    operands: Vec<String>,
    arrays: HashMap<String, Amplitudes>,
}

impl Circuit {
    fn read(name: &str) -> Result<Circuit, Failure> {
        let operands = numpy::names(&format!("{name}.operands"))?;
        let mut arrays = HashMap::new();
        for name in &operands {
            if !arrays.contains_key(name) {
                arrays.insert(name.clone(), numpy::array(name)?);
            }
        }
        Ok(Circuit { text: numpy::text(&format!("{name}.einsum"))?, operands, arrays })
    }

    fn plan(&self, ranks: usize, memory_limit: Option<u64>) -> einsum_dist::Result<Plan> {
        let shapes: Vec<Vec<usize>> = self.operands.iter().map(|name| self.arrays[name].shape().to_vec()).collect();
        let options = PlanOptions::default().dtype(Dtype::Complex64).memory_limit(memory_limit);
        Problem::parse(&self.text)?.shapes(&shapes)?.plan(&Machine::new(ranks, 1), &options)
    }

    fn run(&self, world: &World, plan: &Plan) -> einsum_dist::Result<Amplitudes> {
        let operands = self.operands.iter().map(|name| &self.arrays[name] as &dyn Operand<Complex<f32>>);
        world.compile(plan)?.run(&operands.collect::<Vec<_>>())
    }
}

fn main() -> Result<(), Failure> {
    // Every odd qubit is projected onto one basis state, and even qubits stay open. The result therefore has 1,024 of
    // the 2^20 amplitudes. NumPy computed the expected amplitudes in double precision, by applying one gate after the
    // other to a state vector.
    let want = numpy::array::<Complex<f64>>("circuit_result")?;
    let amplitudes = Circuit::read("circuit")?;
    let whole = amplitudes.plan(1, None)?;
    let report = PathReport::of(&whole).ok_or("a circuit has contractions")?;
    let (tensors, distinct, dimensions) = (whole.operands, amplitudes.arrays.len(), whole.names.len());
    let [at_once, along] = report.log2_flops;
    println!("{tensors} tensors ({distinct} different ones), {dimensions} dimensions");
    println!("{} amplitudes: 2^{at_once:.0} operations in a single step, 2^{along:.0} along the path\n", want.len());

    // Gates are unitary. If they are applied one after the other, rounding errors add up but are not amplified, so the
    // number of roundings in the plan bounds the error relative to the norm. In any other order, intermediates are not
    // quantum states, and the bound is only a guideline.
    println!("ranks  slices  MB on rank 0  MB moved    error    bound");
    let peak = whole.peak_bytes(0);
    for (ranks, limit) in [(1, None), (2, None), (3, None), (1, Some(peak / 2))] {
        let (world, plan) = (World::in_process(ranks), amplitudes.plan(ranks, limit)?);
        let got = amplitudes.run(&world, &plan)?;
        let (error, bound) = (distance(&got, &want) / norm(&want), numpy::bound(&plan));
        assert!(error <= bound, "{ranks} ranks, {limit:?}: error {error:e}, bound {bound:e}");
        let [memory, moved] = [plan.peak_bytes(0), world.moved().received].map(|bytes| bytes as f64 / 1e6);
        let slices = plan.slice_count();
        println!("{ranks:>5}  {slices:>6}  {memory:>12.3}  {moved:>8.3}  {error:.1e}  {bound:.1e}");
    }

    // The same circuit with all qubits open gives the complete state, which has norm 1 and contains the amplitudes
    // above.
    let circuit = Circuit::read("circuit_state")?;
    let plan = circuit.plan(1, None)?;
    let state = circuit.run(&World::single(), &plan)?;
    let (length, bound) = (norm(&state), numpy::bound(&plan));
    assert!((length - 1.0).abs() <= bound, "norm {length}");
    println!("\nall {} amplitudes: norm {length:.6}, {:.1} MB", state.len(), plan.peak_bytes(0) as f64 / 1e6);
    let mut chosen = state;
    for (place, bit) in amplitudes.operands[circuit.operands.len()..].iter().enumerate() {
        // Fixes qubit 2 `place` + 1. The `place` odd qubits before it are already fixed, so its axis is `place` + 1.
        chosen = chosen.index_axis_move(Axis(place + 1), usize::from(bit == "qubit_1"));
    }
    let error = distance(&chosen, &want);
    assert!(error <= bound, "error {error:e}, bound {bound:e}");
    Ok(())
}

fn norm<T: Element>(amplitudes: &ArrayD<T>) -> f64 {
    amplitudes.iter().map(|amplitude| amplitude.to_c64().norm_sqr()).sum::<f64>().sqrt()
}

fn distance(got: &Amplitudes, want: &ArrayD<Complex<f64>>) -> f64 {
    let off = got.iter().zip(want).map(|(got, want)| (got.to_c64() - want).norm_sqr());
    off.sum::<f64>().sqrt()
}
