//! Chooses labels to slice, so that no contraction's result has more elements than a limit.
//!
//! A label's overhead is the repetition of contractions without it.

use crate::bits::Bits;
use crate::random::Random;
use crate::tree::Tree;

/// Added to a label's overhead, so that labels without any differ by the excess that they remove.
const FREE_OVERHEAD: f64 = 0.01;

struct Gains {
    /// The cost of contractions with the label.
    with: Vec<f64>,
    /// log2 of the factor by which nodes above the limit shrink, summed over them.
    reduction: Vec<f64>,
}

impl<const W: usize> Tree<'_, W> {
    fn gains(&self, limit: f64) -> Gains {
        let labels = self.network.labels();
        let mut gains = Gains { with: vec![0.0; labels], reduction: vec![0.0; labels] };
        for node in self.leaves..self.children.len() {
            let [left, right] = self.children[node].map(|child| child as usize);
            for label in self.labels[left].or(&self.labels[right]).iter() {
                gains.with[label] += self.cost[node];
            }
            let excess = self.log2[node] - limit;
            if excess > 0.0 && node != self.root {
                for label in self.labels[node].iter() {
                    gains.reduction[label] += self.network.log2[label].min(excess);
                }
            }
        }
        gains
    }

    /// The label that removes most excess for its overhead, with random noise; `None` if no label can be sliced.
    pub fn label_to_slice(&self, limit: f64, noise: f64, random: &mut Random) -> Option<usize> {
        let gains = self.gains(limit);
        let total = self.total();
        let candidates = (0..gains.with.len()).filter(|&label| gains.reduction[label] > 0.0);
        let scored = candidates.map(|label| {
            let extent = self.network.log2[label].exp2();
            let overhead = ((extent * (total - gains.with[label]) + gains.with[label]) / total).max(1.0).log2();
            let score = ((overhead + FREE_OVERHEAD) / gains.reduction[label]).ln() - noise * random.gumbel();
            (score, label)
        });
        scored.min_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, label)| label)
    }

    pub fn set_sliced(&mut self, sliced: Bits<W>) {
        self.sliced = sliced;
        self.refresh();
    }

    /// Stops slicing labels that need not be sliced, most expensive first.
    pub fn drop_needless_slices(&mut self, limit: f64) {
        let mut labels: Vec<usize> = self.sliced.iter().collect();
        labels.sort_by(|&one, &other| self.network.log2[other].total_cmp(&self.network.log2[one]));
        for label in labels {
            let before = self.sliced;
            let mut without = before;
            without.remove(label);
            self.set_sliced(without);
            if self.largest() > limit {
                self.set_sliced(before);
            }
        }
    }
}
