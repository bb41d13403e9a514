//! The operations and memory of a comparison, estimated in advance, and the sizes of pieces that fit into memory.
//!
//! Invariant: bytes cover all elements held at a time, in double precision with their magnitudes and errors, and the
//! buffers for reading. Lists whose length does not depend on extents are not counted.

use einsum_dist::dims::Label;
use einsum_dist::tree::{NodeId, Step, Tree};

use super::fetch::CHUNK_ELEMENTS;
use super::sum::Tracked;

/// Cost of an element of an operand, generated or read and then stored, in operations.
const OPERATIONS_PER_FETCH: f64 = 8.0;

/// Cost of beginning a step, and of opening the file of an operand, in operations.
const OPERATIONS_PER_STEP: f64 = 500.0;
const OPERATIONS_PER_OPERAND: f64 = 2_000.0;

/// Bytes of the largest element in a file.
const MAX_ELEMENT_BYTES: f64 = 16.0;

/// Vectors of elements of the result that are held in addition to their inputs: a sum, twice as long, a summand, and
/// the array that the result was added onto.
const RESULT_VECTORS: f64 = 4.0;

/// How elements of the result are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evaluation {
    /// Each as one sum over all labels, which shares nothing with the plan but labels and extents.
    Directly,
    /// From intermediates, along the tree.
    AlongTree,
}

/// The cost of one evaluation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Multiply-adds.
    pub products: f64,
    /// Elements of operands.
    pub fetched: f64,
    /// Fixed cost of steps and operands, whatever their size, in multiply-adds.
    overhead: f64,
    pub bytes: f64,
    /// The step that needs the most memory.
    widest: NodeId,
}

impl Cost {
    /// The cost of one part of a selection, with `sizes` indices of each label, by label number.
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
            // Each product has all operands as factors.
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

    /// The total cost, in products.
    pub fn operations(&self) -> f64 {
        self.products + OPERATIONS_PER_FETCH * self.fetched + self.overhead
    }

    /// The cost of `count` repetitions.
    pub fn times(self, count: f64) -> Cost {
        let [products, fetched, overhead] = [self.products, self.fetched, self.overhead].map(|each| each * count);
        Cost { products, fetched, overhead, ..self }
    }
}

/// The inputs of a step.
pub fn inputs(step: &Step) -> [Option<NodeId>; 2] {
    match *step {
        Step::Leaf { .. } => [None; 2],
        Step::Unary { input, .. } => [Some(input), None],
        Step::Contract { left, right, .. } => [Some(left), Some(right)],
    }
}

/// The labels, each once.
pub fn distinct(labels: &[Label]) -> Vec<Label> {
    let mut distinct: Vec<Label> = Vec::with_capacity(labels.len());
    labels.iter().for_each(|label| {
        if !distinct.contains(label) {
            distinct.push(*label);
        }
    });
    distinct
}

/// Returns sizes of pieces of the selection `whole` that need at most `most` bytes, and the cost of all pieces; `None`
/// if single products need more memory, or all pieces need more than `operations`.
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
    // Pieces need no fewer operations than the whole.
    while cost.bytes > most && cost.operations() <= operations {
        // Halve a label of the step that needs the most memory: the one for which that costs the least.
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
            // The step is wide because of tensors that are live at the same time.
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
mod tests {
    use einsum_dist::Problem;
    use einsum_dist::{Machine, PlanOptions};

    use super::*;

    fn tree(text: &str, shapes: &[Vec<usize>]) -> Tree {
        let shaped = Problem::parse(text).unwrap().shapes(shapes).unwrap();
        shaped.tree(&Machine::default(), &PlanOptions::default()).unwrap()
    }

    #[test]
    fn a_tree_has_fewer_products_than_its_sum() {
        let chain = tree("ab,bc,cd->ad", &[vec![10, 10], vec![10, 10], vec![10, 10]]);
        let along = Cost::of(&chain, Evaluation::AlongTree, &chain.extents);
        let directly = Cost::of(&chain, Evaluation::Directly, &chain.extents);
        assert_eq!((along.products, directly.products), (2000.0, 15_000.0));
        assert_eq!((along.fetched, directly.fetched), (300.0, 300.0));
    }

    #[test]
    fn pieces_fit() {
        let product = tree("mk,kn->mn", &[vec![100, 64], vec![64, 90]]);
        for evaluation in [Evaluation::Directly, Evaluation::AlongTree] {
            let whole = Cost::of(&product, evaluation, &product.extents);
            for most in [1e6, 1e5, 1e4, 1e3] {
                let (sizes, cost) = fit(&product, evaluation, &product.extents, most, f64::INFINITY).unwrap();
                assert!(cost.bytes <= most && cost.products >= whole.products, "{most}: {sizes:?} {cost:?}");
            }
            assert_eq!(fit(&product, evaluation, &product.extents, 100.0, f64::INFINITY), None);
        }
    }
}
