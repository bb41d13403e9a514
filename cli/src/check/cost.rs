//! Estimates the operations and memory of a comparison, and finds sizes of pieces (maximum indices per label) that fit.
//! Memory is the read buffers and all elements at a time, in double precision with absolute products and errors.

use einsum_dist::dims::{Label, distinct};
use einsum_dist::tree::{NodeId, Step, Tree, inputs};

use super::fetch::CHUNK_ELEMENTS;
use super::sum::Tracked;

/// Operations to generate or read an operand element and store it.
const OPERATIONS_PER_FETCH: f64 = 8.0;

/// Operations to start a step or open an operand's file.
const OPERATIONS_PER_STEP: f64 = 500.0;
const OPERATIONS_PER_OPERAND: f64 = 2_000.0;

const MAX_ELEMENT_BYTES: f64 = 16.0;

/// Maximum vectors of result elements beside a step's inputs: a sum (twice as large), a summand, and `--accumulate`.
const RESULT_VECTORS: f64 = 4.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evaluation {
    /// A single sum over all labels, independent of mistakes in the plan other than in labels and extents.
    Directly,
    /// From intermediates along the tree.
    AlongTree,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    pub products: f64,
    pub fetched: f64,
    /// Overhead of steps and operands, in multiply-adds.
    overhead: f64,
    pub bytes: f64,
    widest: NodeId,
}

impl Cost {
    pub fn of(tree: &Tree, evaluation: Evaluation, sizes: &[usize]) -> Cost {
        let volume = |labels: &[Label]| labels.iter().map(|label| sizes[label.0 as usize] as f64).product::<f64>();
        let element = size_of::<Tracked>() as f64;
        let root = tree.root();
        let steps = tree.nodes.len() - tree.operands;
        let steps = if evaluation == Evaluation::Directly { 1 } else { steps };
        let mut cost = Cost { products: 0.0, fetched: 0.0, overhead: 0.0, bytes: 0.0, widest: root };
        if evaluation == Evaluation::Directly {
            let leaves = tree.nodes.iter().filter(|node| matches!(node.step, Step::Leaf { .. }));
            cost.fetched = leaves.map(|node| volume(&node.labels)).sum();
            // Each product has all operands as factors, and a multiply-add has two factors.
            let factors = (tree.operands as f64 / 2.0).max(1.0);
            cost.products = sizes.iter().map(|&size| size as f64).product::<f64>() * factors;
            cost.bytes = cost.fetched * element + cost.fetched.min(CHUNK_ELEMENTS as f64) * MAX_ELEMENT_BYTES;
        } else {
            cost.follow(tree, volume, element);
        }
        cost.overhead = OPERATIONS_PER_STEP * steps as f64 + OPERATIONS_PER_OPERAND * tree.operands as f64;
        cost.bytes += RESULT_VECTORS * element * volume(&tree.nodes[root].labels);
        cost
    }

    fn follow(&mut self, tree: &Tree, volume: impl Fn(&[Label]) -> f64, element: f64) {
        let mut live = 0.0;
        for (id, node) in tree.nodes.iter().enumerate() {
            let inputs = inputs(&node.step);
            let mut bytes = live + element * volume(&node.labels);
            for &input in inputs.iter().flatten() {
                let elements = volume(&tree.nodes[input].labels);
                if let Step::Leaf { .. } = tree.nodes[input].step {
                    self.fetched += elements;
                    bytes += elements * element + elements.min(CHUNK_ELEMENTS as f64) * MAX_ELEMENT_BYTES;
                } else {
                    live -= elements * element;
                }
            }
            self.products += match &node.step {
                Step::Leaf { .. } => continue,
                Step::Contract { kinds, .. } => volume(&kinds.iter().map(|(label, _)| label).collect::<Vec<_>>()),
                Step::Unary { input, .. } => volume(&distinct(&tree.nodes[*input].labels)),
            };
            live += element * volume(&node.labels);
            if bytes > self.bytes {
                (self.bytes, self.widest) = (bytes, id);
            }
        }
    }

    pub fn operations(&self) -> f64 {
        self.products + OPERATIONS_PER_FETCH * self.fetched + self.overhead
    }

    pub fn times(self, count: f64) -> Cost {
        let [products, fetched, overhead] = [self.products, self.fetched, self.overhead].map(|each| each * count);
        Cost { products, fetched, overhead, ..self }
    }
}

/// Cuts `whole` into pieces of at most `most` bytes; returns their size and total cost. `None` if a product needs more.
pub fn fit(
    tree: &Tree,
    evaluation: Evaluation,
    whole: &[usize],
    most: f64,
    operations: f64,
) -> Option<(Vec<usize>, Cost)> {
    let mut sizes = whole.to_vec();
    let total = |sizes: &[usize]| {
        let count = sizes.iter().zip(whole).map(|(&size, &whole)| whole.div_ceil(size.max(1)).max(1) as f64).product();
        Cost::of(tree, evaluation, sizes).times(count)
    };
    let mut cost = total(&sizes);
    // Smaller pieces never need fewer operations.
    while cost.bytes > most && cost.operations() <= operations {
        // Halve the label of the largest step that minimises time times memory.
        let step = &tree.nodes[cost.widest];
        let mut labels = step.labels.clone();
        match evaluation {
            Evaluation::Directly => labels = (0..sizes.len() as u32).map(Label).collect(),
            Evaluation::AlongTree => {
                inputs(&step.step).iter().flatten().for_each(|&input| labels.extend(&tree.nodes[input].labels));
            }
        }
        let halved = distinct(&labels).into_iter().map(|label| label.0 as usize).filter(|&label| sizes[label] > 1);
        let halved = halved.map(|label| {
            let mut sizes = sizes.clone();
            sizes[label] = sizes[label].div_ceil(2);
            let cost = total(&sizes);
            (sizes, cost)
        });
        let time_and_memory = |cost: &Cost| (1.0 + cost.operations()) * cost.bytes;
        (sizes, cost) = match halved
            .min_by(|(_, one), (_, other)| time_and_memory(one).total_cmp(&time_and_memory(other)))
        {
            Some(smaller) => smaller,
            // Other steps' tensors occupy most memory.
            None => {
                let largest = (0..sizes.len()).max_by_key(|&label| sizes[label]).filter(|&label| sizes[label] > 1)?;
                sizes[largest] = sizes[largest].div_ceil(2);
                let cost = total(&sizes);
                (sizes, cost)
            }
        };
    }
    (cost.operations() <= operations).then_some((sizes, cost))
}

#[cfg(test)]
mod tests;
