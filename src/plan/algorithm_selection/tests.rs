//! Unit tests of `algorithm_selection`.

use einsum_parser::Span;

use super::*;
use crate::algorithm::Distributions;
use crate::dims::classify;
use crate::machine::Machine;
use crate::plan::candidates::SearchArguments;
use crate::plan::options::PlanOptions;
use crate::tree::Node;

struct Numbers(u64);

impl Numbers {
    fn below(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }
}

/// Each operand has one to three of six dimensions.
fn random_tree(numbers: &mut Numbers, contractions: usize) -> Tree {
    let extents: Vec<usize> = (0..6).map(|_| 1 + numbers.below(300)).collect();
    let mut nodes: Vec<Node> = Vec::new();
    let mut open: Vec<NodeId> = Vec::new();
    for operand in 0..=contractions {
        let mut labels: Vec<Label> = Vec::new();
        for _ in 0..1 + numbers.below(3) {
            let label = Label(numbers.below(6) as u32);
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
        open.push(nodes.len());
        nodes.push(Node { labels, step: Step::Leaf { operand }, span: Span { start: 0, end: 0 } });
    }
    while open.len() > 1 {
        let left = open.swap_remove(numbers.below(open.len()));
        let right = open.swap_remove(numbers.below(open.len()));
        let (l, r) = (nodes[left].labels.clone(), nodes[right].labels.clone());
        let wanted = |label: &Label| open.iter().any(|&other| nodes[other].labels.contains(label));
        let mut labels: Vec<Label> = l.iter().copied().filter(|x| !r.contains(x) || wanted(x)).collect();
        labels.extend(r.iter().copied().filter(|x| !l.contains(x)));
        let kinds = classify(&l, &r, &labels).unwrap();
        open.push(nodes.len());
        nodes.push(Node { labels, step: Step::Contract { left, right, kinds }, span: Span { start: 0, end: 0 } });
    }
    let names = ["a", "b", "c", "d", "e", "f"].map(str::to_owned).to_vec();
    Tree { names, extents, nodes, operands: contractions + 1, sliced: Vec::new() }
}

fn candidates(space: &SearchSpace) -> Vec<Vec<(Algorithm, Distributions, Price)>> {
    let of = |node: usize| match &space.tree.nodes[node].step {
        Step::Contract { left, right, kinds } => {
            let all = space.candidates(node, kinds).unwrap().into_iter();
            all.map(|algorithm| {
                let (needs, price) = space.contraction(node, [*left, *right], &algorithm, [None, None]);
                (algorithm, needs, price)
            })
            .collect()
        }
        _ => Vec::new(),
    };
    (0..space.tree.nodes.len()).map(of).collect()
}

/// The price of the whole tree when each contraction `node` uses its candidate `picked[node]`.
fn whole(space: &SearchSpace, all: &[Vec<(Algorithm, Distributions, Price)>], picked: &[usize]) -> Price {
    let mut price = Price::default();
    for (node, step) in space.tree.nodes.iter().enumerate() {
        let Step::Contract { left, right, .. } = step.step else { continue };
        let (_, needs, own) = &all[node][picked[node]];
        price = price + *own;
        for (input, wanted) in [(left, &needs.left), (right, &needs.right)] {
            if let Some((_, distribution, _)) = all[input].get(picked[input]) {
                let labels = &space.tree.nodes[input].labels;
                price = price + space.cost.redistribution(labels, &distribution.out, wanted);
            }
        }
    }
    price
}

#[test]
fn no_other_choice_is_cheaper() {
    Objective::ALL.into_iter().for_each(no_other_choice_is_cheaper_by);
}

fn no_other_choice_is_cheaper_by(objective: Objective) {
    let machine = [2, 4, 6].map(|ranks| Machine::new(ranks, 1));
    let options = PlanOptions::default().objective(objective);
    let key = |price: Price| if objective == Objective::Time { price.seconds } else { price.bytes };
    let mut numbers = Numbers(3);
    let (mut trees, mut large, mut not_local) = (0, 0, 0);
    while trees < 200 {
        let contractions = 1 + numbers.below(5);
        let tree = random_tree(&mut numbers, contractions);
        let machine = &machine[numbers.below(3)];
        let space = SearchSpace::new(&tree, machine, &options, SearchArguments::new(&options));
        let all = candidates(&space);
        let combinations: f64 = all.iter().map(|candidates| candidates.len().max(1) as f64).product();
        if combinations > 2e4 {
            continue;
        }
        let mut picked = vec![0; all.len()];
        let mut least = f64::INFINITY;
        // Like an odometer.
        loop {
            least = least.min(key(whole(&space, &all, &picked)));
            let Some(next) = (0..all.len()).find(|&node| picked[node] + 1 < all[node].len()) else { break };
            picked[next] += 1;
            picked[..next].fill(0);
        }
        let chosen: Vec<_> = algorithms(&space).unwrap().into_iter().map(|choice| choice.algorithm).collect();
        let picked: Vec<usize> = (0..all.len())
            .map(|node| all[node].iter().position(|(a, ..)| Some(a) == chosen[node].as_ref()).unwrap_or(0))
            .collect();
        let found = key(whole(&space, &all, &picked));
        assert!(found <= least * (1.0 + 1e-9), "{found} of {least}: {tree:?}");
        trees += 1;
        large += usize::from(contractions > 2);
        not_local += usize::from(chosen.iter().flatten().any(|algorithm| *algorithm != Algorithm::Local));
    }
    assert!(large > 20 && not_local > 20, "{large} {not_local}");
}
