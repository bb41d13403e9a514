//! Networks: the labels of tensors and output, and their extents.
//!
//! Invariants of a prepared network: labels of equal extents have neighbouring numbers; no tensor has a label twice;
//! every label is in two tensors or more, or in one and the output. Other labels are summed before the first
//! contraction, in any order, so searches ignore them.

use crate::bits::Bits;

/// A network as given. Labels are any numbers below the length of `extents`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// Each tensor's labels.
    pub tensors: Vec<Vec<u32>>,
    /// The result's labels.
    pub output: Vec<u32>,
    /// Each label's extent.
    pub extents: Vec<usize>,
}

/// A network with log2 of its extents. No tensor has a label twice.
#[derive(Debug, Clone, Copy)]
pub struct Labelled<'a> {
    /// Each tensor's labels.
    pub tensors: &'a [Vec<u32>],
    /// The result's labels.
    pub output: &'a [u32],
    /// log2 of each label's extent.
    pub log2: &'a [f64],
}

/// A network prepared for the searches.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// Each tensor's labels, ascending.
    pub tensors: Vec<Vec<u32>>,
    /// The result's labels, ascending.
    pub output: Vec<u32>,
    /// log2 of each label's extent.
    pub log2: Vec<f64>,
    /// Each label's number in the original network; `u32::MAX` for unused numbers.
    pub originals: Vec<u32>,
    /// The tensors with each label, plus one if the output has it.
    pub holders: Vec<u32>,
}

impl Prepared {
    /// Prepares a network.
    ///
    /// # Panics
    /// If a label has no extent.
    pub fn new(network: &Network) -> Prepared {
        let distinct = |labels: &[u32]| {
            let mut labels = labels.to_vec();
            labels.sort_unstable();
            labels.dedup();
            labels
        };
        let tensors: Vec<Vec<u32>> = network.tensors.iter().map(|labels| distinct(labels)).collect();
        let output = distinct(&network.output);
        let mut uses = vec![0usize; network.extents.len()];
        tensors.iter().flatten().chain(&output).for_each(|&label| uses[label as usize] += 1);
        let held = |label: &u32| uses[*label as usize] > 1 && network.extents[*label as usize] > 1;
        let mut originals: Vec<u32> = (0..network.extents.len() as u32).filter(held).collect();
        originals.sort_by_key(|&label| (network.extents[label as usize], label));
        pad(&mut originals, |label| network.extents[label as usize]);
        let mut numbers = vec![u32::MAX; network.extents.len()];
        let used = originals.iter().enumerate().filter(|(_, label)| **label != UNUSED);
        used.for_each(|(at, &label)| numbers[label as usize] = at as u32);
        let renumber = |labels: &[u32]| {
            let mut labels: Vec<u32> = labels.iter().filter(|l| held(l)).map(|&l| numbers[l as usize]).collect();
            labels.sort_unstable();
            labels
        };
        let mut prepared = Prepared {
            tensors: tensors.iter().map(|labels| renumber(labels)).collect(),
            output: renumber(&output),
            log2: originals.iter().map(|&label| log2(network, label)).collect(),
            originals,
            holders: Vec::new(),
        };
        prepared.count_holders();
        prepared
    }

    /// In the form for greedy and optimal orders.
    pub fn labelled(&self) -> Labelled<'_> {
        Labelled { tensors: &self.tensors, output: &self.output, log2: &self.log2 }
    }

    /// The network of tensors with these labels. Without `output`, the result has the labels that occur once or in the
    /// whole output.
    pub fn part(&self, tensors: Vec<Vec<u32>>, output: Option<Vec<u32>>) -> Prepared {
        let mut labels: Vec<u32> = tensors.iter().flatten().copied().collect();
        labels.sort_unstable();
        let uses = |label: u32| labels.partition_point(|&l| l <= label) - labels.partition_point(|&l| l < label);
        let mut distinct = labels.clone();
        distinct.dedup();
        let number = |label: &u32| distinct.partition_point(|l| l < label) as u32;
        let output = output.unwrap_or_else(|| {
            let kept = |label: &u32| uses(*label) < self.holders[*label as usize] as usize;
            distinct.iter().copied().filter(kept).collect()
        });
        let renumber = |labels: &[u32]| labels.iter().map(number).collect::<Vec<u32>>();
        let mut part = Prepared {
            tensors: tensors.iter().map(|labels| renumber(labels)).collect(),
            output: renumber(&output),
            log2: distinct.iter().map(|&label| self.log2[label as usize]).collect(),
            originals: distinct.iter().map(|&label| self.originals[label as usize]).collect(),
            holders: Vec::new(),
        };
        part.count_holders();
        part
    }

    fn count_holders(&mut self) {
        self.holders = vec![0; self.log2.len()];
        for &label in self.tensors.iter().flatten().chain(&self.output) {
            self.holders[label as usize] += 1;
        }
    }

    /// The number of labels, including unused numbers.
    pub fn labels(&self) -> usize {
        self.log2.len()
    }
}

/// The original of unused numbers.
pub const UNUSED: u32 = u32::MAX;

/// Networks with at most this many different extents get whole words for each.
const MAX_PADDED_EXTENTS: usize = 8;

/// Fills words, so that a word's labels all have one extent.
fn pad(originals: &mut Vec<u32>, extent: impl Fn(u32) -> usize) {
    let mut groups: Vec<Vec<u32>> = Vec::new();
    for &label in originals.iter() {
        match groups.last_mut() {
            Some(group) if extent(group[0]) == extent(label) => group.push(label),
            _ => groups.push(vec![label]),
        }
    }
    if groups.len() > MAX_PADDED_EXTENTS {
        return;
    }
    let last = groups.len().saturating_sub(1);
    groups[..last].iter_mut().for_each(|group| group.resize(group.len().next_multiple_of(64), UNUSED));
    *originals = groups.concat();
}

fn log2(network: &Network, label: u32) -> f64 {
    if label == UNUSED { f64::NAN } else { (network.extents[label as usize] as f64).log2() }
}

/// Computes log2 of the elements that labels span.
#[derive(Debug, Clone)]
pub struct Weights<const W: usize> {
    /// The weight of each label of a word, if equal.
    uniform: Option<[f64; W]>,
    log2: Vec<f64>,
}

impl<const W: usize> Weights<W> {
    pub fn new(log2: &[f64]) -> Weights<W> {
        let words: Vec<Option<f64>> = log2
            .chunks(64)
            .map(|word| word.iter().all(|w| *w == word[0] || w.is_nan()).then_some(word[0]))
            .chain(std::iter::repeat(Some(0.0)))
            .take(W)
            .collect();
        let uniform = words.iter().all(Option::is_some);
        let uniform = uniform.then(|| std::array::from_fn(|word| words[word].unwrap_or_default()));
        Weights { uniform, log2: log2.to_vec() }
    }

    #[inline(always)]
    pub fn log2(&self, labels: &Bits<W>) -> f64 {
        match &self.uniform {
            Some(weights) => (0..W).map(|word| f64::from(labels.0[word].count_ones()) * weights[word]).sum(),
            None => labels.iter().map(|label| self.log2[label]).sum(),
        }
    }
}
