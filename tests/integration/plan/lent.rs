//! Tests contractions of blocks in memory of the caller, with gaps and dimensions in any order.

use einsum_dist::distribution::Distribution;
use einsum_dist::plan::AlgorithmName;
use einsum_dist::{DistTensor, Error, Lent, World};
use ndarray::{ArrayD, ArrayViewMutD, IxDyn, ShapeBuilder};

use crate::common::{Case, Rng};

const GAP: f64 = 1e30;

/// The memory of a rank's block. Elements are at the given strides, and all others are [`GAP`].
struct Memory {
    elements: Vec<f64>,
    extents: Vec<usize>,
    strides: Vec<usize>,
}

impl Memory {
    fn random(rng: &mut Rng, extents: &[usize]) -> Memory {
        let mut order: Vec<usize> = (0..extents.len()).collect();
        (1..order.len()).for_each(|at| order.swap(at, rng.below(at + 1)));
        let (mut strides, mut next) = (vec![0; extents.len()], 1 + rng.below(2));
        for dim in order {
            strides[dim] = next;
            next *= extents[dim].max(1) + rng.below(3);
        }
        Memory { elements: vec![GAP; next + 1], extents: extents.to_vec(), strides }
    }

    fn view(&mut self) -> ArrayViewMutD<'_, f64> {
        let shape = IxDyn(&self.extents).strides(IxDyn(&self.strides));
        ArrayViewMutD::from_shape(shape, &mut self.elements).unwrap()
    }

    /// How many elements outside the block have been written.
    fn written_gaps(&mut self) -> usize {
        let gaps = self.elements.len() - self.extents.iter().product::<usize>();
        self.view().fill(0.0);
        gaps - self.elements.iter().filter(|&&element| element == GAP).count()
    }
}

/// Lends new memory for all ranks of a world, with the values of a whole tensor.
fn lend(
    world: &World,
    (whole, distribution): (&ArrayD<f64>, &Distribution),
    rng: &mut Rng,
    memories: &mut Vec<Memory>,
) -> DistTensor<f64> {
    let mut own: Vec<Memory> = Vec::new();
    let mut tensor = DistTensor::lent(world, whole.shape(), distribution, |_, extents| {
        own.push(Memory::random(rng, extents));
        // SAFETY: the elements stay where they are until `memories` is dropped, after the last use of the tensor.
        unsafe { Lent::new(own.last_mut().unwrap().view()) }
    })
    .unwrap();
    tensor.assign(whole.view());
    memories.append(&mut own);
    tensor
}

/// Small integers, so that sums are exact in any order.
fn integers(rng: &mut Rng, shape: &[usize]) -> ArrayD<f64> {
    ArrayD::from_shape_fn(shape, |_| rng.below(9) as f64 - 4.0)
}

#[test]
fn lent_blocks_give_what_own_blocks_give() {
    let mut rng = Rng::new(33);
    let mut checked = 0;
    while checked < 60 {
        let case = Case { f64: true, ..Case::random(&mut rng) };
        let ranks = 1 + rng.below(8);
        let fixed = case.random_distributions(&mut rng, ranks);
        // In place, and after redistributions.
        let algorithm = if rng.below(2) == 0 { AlgorithmName::Slicing } else { AlgorithmName::Grid };
        let Some(plan) = case.plan_fixed(ranks, algorithm, &fixed, true) else { continue };
        let world = World::in_process(ranks);
        let tensors = [plan.operand(0), plan.operand(1), plan.output()];
        let wholes = tensors.map(|value| integers(&mut rng, &value.shape));
        let mut program = world.compile::<f64>(&plan).unwrap();
        let results = [false, true].map(|lent| {
            let mut memories = Vec::new();
            let [left, right, mut out] = [0, 1, 2].map(|at| {
                let (whole, distribution) = (&wholes[at], &tensors[at].distribution);
                if lent {
                    return lend(&world, (whole, distribution), &mut rng, &mut memories);
                }
                let mut tensor = DistTensor::zeros(&world, whole.shape(), distribution);
                tensor.assign(whole.view());
                tensor
            });
            program.run_dist(2.0, &[&left, &right], 3.0, &mut out).unwrap();
            let blocks: Vec<ArrayD<f64>> = out.blocks().map(|(_, block)| block.to_owned()).collect();
            assert!(memories.iter_mut().all(|memory| memory.written_gaps() == 0), "{case:?}");
            blocks
        });
        assert_eq!(results[0], results[1], "{case:?} on {ranks} ranks");
        checked += 1;
    }
}

#[test]
fn lent_blocks_have_the_extents_of_the_distribution() {
    let world = World::single();
    let mut memory = ArrayD::<f32>::zeros(IxDyn(&[3, 5]));
    let lent = DistTensor::lent(&world, &[3, 4], &Distribution::single(), |_, extents| {
        assert_eq!(extents, [3, 4]);
        // SAFETY: `memory` outlives the tensor.
        unsafe { Lent::new(memory.view_mut()) }
    });
    assert!(
        matches!(&lent, Err(Error::Usage(why)) if why == "the block of rank 0 has shape [3, 5], not [3, 4]"),
        "{lent:?}"
    );
}
