//! Simulated annealing of a contraction tree by rotations.
//!
//! A step replaces a contraction ((a b) c) by ((a c) b) or ((b c) a).

use crate::effort;
use crate::fast_math::{exp2, log2};
use crate::random::Random;
use crate::tree::Tree;

impl<const W: usize> Tree<'_, W> {
    /// Tries one rotation per contraction. None makes a result larger than both 2^`limit` elements and the one that it
    /// replaces.
    pub fn anneal(&mut self, beta: f64, limit: f64, random: &mut Random) {
        let inner = self.children.len() - self.leaves;
        self.effort += effort::rotation(W) * inner as f64;
        for _ in 0..inner {
            let node = self.leaves + random.below(inner);
            self.rotate(node, beta, limit, random);
        }
    }

    #[inline(always)]
    fn rotate(&mut self, node: usize, beta: f64, limit: f64, random: &mut Random) {
        let bits = random.next();
        let [left, right] = self.children[node].map(|child| child as usize);
        let (moved, other) = match (left >= self.leaves, right >= self.leaves) {
            (false, false) => return,
            (true, false) => (left, right),
            (false, true) => (right, left),
            (true, true) if bits & 1 == 0 => (left, right),
            (true, true) => (right, left),
        };
        let pair = self.children[moved].map(|child| child as usize);
        let (kept, freed) = if bits & 2 == 0 { (pair[0], pair[1]) } else { (pair[1], pair[0]) };
        let union = self.labels[kept].or(&self.labels[other]);
        let result = union.and(&self.labels[freed].or(&self.labels[node]));
        let size = self.weights.log2(&result);
        if size > limit && size > self.log2[moved] {
            return;
        }
        let elements = exp2(size);
        let price = self.price;
        let inner = exp2(self.weights.log2(&union))
            + price.element * (self.elements[kept] + self.elements[other] + elements)
            + price.step;
        let outer = exp2(self.weights.log2(&result.or(&self.labels[freed])))
            + price.element * (elements + self.elements[freed] + self.elements[node])
            + price.step;
        let before = self.cost[moved] + self.cost[node];
        let after = inner + outer;
        if after > before {
            let chance = exp2(-beta * (log2(after) - log2(before)));
            let sample = (bits >> 11) as f64 / (1u64 << 53) as f64;
            if sample >= chance {
                return;
            }
        }
        self.children[moved] = [kept as u32, other as u32];
        self.children[node] = [moved as u32, freed as u32];
        self.parent[other] = moved as u32;
        self.parent[freed] = node as u32;
        self.labels[moved] = result;
        self.log2[moved] = size;
        self.elements[moved] = elements;
        self.cost[moved] = inner;
        self.cost[node] = outer;
    }
}
