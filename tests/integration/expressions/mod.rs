//! Compares the result of every expression in tests/integration/expressions/list.txt with NumPy's result, on 1, 2 and 5
//! ranks, for every element type and several paths. Operands are small integers, so results are exact in every element
//! type and order of additions.

use std::fmt::Debug;

use einsum_dist::plan::PathChoice;
use einsum_dist::{Element, Machine, Operand, PlanOptions, Problem, World};
use ndarray::{ArrayD, IxDyn};
use num_complex::Complex;

/// A line of expected.txt.
struct Case {
    expression: &'static str,
    shapes: Vec<Vec<usize>>,
    output: Vec<usize>,
    real: Vec<f64>,
    complex: Vec<Complex<f64>>,
}

fn shape(text: &str) -> Vec<usize> {
    if text == "." { vec![] } else { text.split('x').map(|extent| extent.parse().unwrap()).collect() }
}

fn cases() -> Vec<Case> {
    let numbers = |text: &str| text.split_whitespace().map(|n| n.parse().unwrap()).collect::<Vec<f64>>();
    let case = |line: &'static str| {
        let parts: Vec<&str> = line.split(" | ").collect();
        let (expression, complex) = (parts[0], numbers(parts.get(4).copied().unwrap_or_default()));
        Case {
            expression,
            shapes: parts[1].split_whitespace().map(shape).collect(),
            output: shape(parts[2]),
            real: numbers(parts[3]),
            complex: complex.chunks(2).map(|pair| Complex::new(pair[0], pair[1])).collect(),
        }
    };
    let lines = include_str!("expected.txt").lines();
    lines.filter(|line| !line.starts_with('#') && !line.is_empty()).map(case).collect()
}

/// Element value. This must be the same function as in tests/integration/expressions/generate.py.
fn value(operand: usize, place: usize, part: usize) -> f64 {
    [1.0, -1.0, 2.0, 0.0, 1.0, -1.0, -2.0][(3 * place + 5 * operand + part * (2 * place + 1)) % 7]
}

fn operand<T: Element>(operand: usize, shape: &[usize]) -> ArrayD<T> {
    let complex = T::DTYPE.is_complex();
    let element = |place| {
        let imaginary = if complex { value(operand, place, 1) } else { 0.0 };
        T::from_f64(value(operand, place, 0), imaginary)
    };
    let elements = (0..shape.iter().product()).map(element).collect();
    ArrayD::from_shape_vec(IxDyn(shape), elements).unwrap()
}

fn check<T: Element + Debug>(world: &World, case: &Case, path: &PathChoice) {
    let operands: Vec<ArrayD<T>> = case.shapes.iter().enumerate().map(|(at, shape)| operand(at, shape)).collect();
    let borrowed: Vec<&dyn Operand<T>> = operands.iter().map(|operand| operand as _).collect();
    let options = PlanOptions::default().dtype(T::DTYPE).path(path.clone());
    let what =
        || format!("{} of {:?}, {:?} on {} ranks, {path:?}", case.expression, case.shapes, T::DTYPE, world.ranks());
    let problem = Problem::parse(case.expression).unwrap_or_else(|error| panic!("{}: {error}", what()));
    let shaped = problem.shapes(&case.shapes).unwrap_or_else(|error| panic!("{}: {error}", what()));
    let plan =
        shaped.plan(&Machine::new(world.ranks(), 1), &options).unwrap_or_else(|error| panic!("{}: {error}", what()));
    let got = world.compile::<T>(&plan).unwrap().run(&borrowed).unwrap_or_else(|error| panic!("{}: {error}", what()));
    assert_eq!(got.shape(), case.output, "{}", what());
    let complex = T::DTYPE.is_complex();
    for (at, got) in got.iter().enumerate() {
        let want = if complex { case.complex[at] } else { case.real[at].into() };
        assert!(got.to_c64() == want, "{}: element {at} is {got:?}, not {want}", what());
    }
}

/// Checks all cases in all element types.
fn every_case(ranks: usize, path: &PathChoice) {
    let world = World::in_process(ranks);
    for case in cases() {
        check::<f32>(&world, &case, path);
        check::<f64>(&world, &case, path);
        check::<Complex<f32>>(&world, &case, path);
        check::<Complex<f64>>(&world, &case, path);
    }
}

#[test]
fn there_are_many_of_every_kind() {
    let groups = include_str!("list.txt").lines().filter(|line| line.starts_with('#')).count();
    assert!(cases().len() >= 300 && groups >= 20, "{} in {groups} groups", cases().len());
}

#[test]
fn on_1_rank() {
    every_case(1, &PathChoice::Auto);
}

#[test]
fn on_2_ranks() {
    every_case(2, &PathChoice::Greedy);
}

#[test]
fn on_5_ranks() {
    every_case(5, &PathChoice::Auto);
}

#[test]
fn along_every_kind_of_path() {
    let world = World::single();
    for case in cases() {
        for path in [PathChoice::LeftToRight, PathChoice::Greedy, PathChoice::Anneal] {
            check::<f32>(&world, &case, &path);
        }
    }
}
