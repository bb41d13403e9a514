//! Counts the words that cross between nodes in one product, summed over all ranks, if ranks are numbered along whole
//! cuts of the grid (the best order), and if nodes and the ranks of a node both cut dimensions and forward.
//!
//! Command: `cargo bench --bench volumes -- nodes`.

use einsum_dist::algorithm::{Grid, GridFit};
use einsum_dist::dims::Label;
use einsum_dist::schedule::Action;
use einsum_dist::schedule::collective::CollectiveAlgorithm;

use super::{RANKS, SHAPES, kinds, schedule};

/// Ranks per node: sockets or NUMA domains of a node, or cores of a node in the COSMA paper.
const NODES: [usize; 4] = [2, 4, 8, 36];

/// Schedules of more ranks take long.
const MAX_RANKS: usize = 1152;

/// Words that ranks receive from other nodes, and the words that all ranks receive.
fn words(grid: &Grid, extents: &[usize; 3], ranks: usize, node: usize) -> [u64; 2] {
    let mut words = [0, 0];
    for rank in 0..grid.ranks() {
        let schedule = schedule(grid, extents, ranks, rank);
        for task in &schedule.tasks {
            if let Action::Recv { peer, .. } = task.action {
                let received = schedule.bytes(&task.action);
                words[1] += received;
                words[0] += if peer / node == rank / node { 0 } else { received };
            }
        }
    }
    words
}

/// Prints the table.
pub fn table() {
    println!("# words (f32) between nodes, summed over all ranks, for the best grid with unlimited memory");
    println!("shape,per_node,ranks,grid,whole cuts,direct,ring,direct / whole,ring / whole,all words / whole");
    let kinds = kinds();
    for (name, extents, _) in SHAPES {
        for node in NODES {
            for ranks in RANKS.into_iter().filter(|ranks| *ranks > node && *ranks <= MAX_RANKS) {
                let fit = GridFit { kinds: &kinds, extents: &extents, uncut: &[], ranks, memory: None };
                let Some(grid) = fit.best(fit.idle()) else { continue };
                let algorithms = [CollectiveAlgorithm::Direct, CollectiveAlgorithm::Ring];
                let [Some(direct), Some(ring)] = algorithms.map(|algorithm| fit.in_nodes(&grid, node, algorithm))
                else {
                    continue;
                };
                let all = |grid: &Grid| words(grid, &extents, ranks, node);
                let Some([whole, total]) = grid.orders().iter().map(all).min() else { continue };
                let [[direct_words, _], [ring_words, ring_total]] = [all(&direct), all(&ring)];
                let ratio = |words: u64, of: u64| words as f64 / of as f64;
                let name_of =
                    |&(label, parts): &(Label, usize)| format!("{}/{parts}", ["m", "n", "k"][label.0 as usize]);
                println!(
                    "{name},{node},{ranks},{},{whole},{direct_words},{ring_words},{:.3},{:.3},{:.3}",
                    ring.cuts.iter().map(name_of).collect::<Vec<_>>().join(" "),
                    ratio(direct_words, whole),
                    ratio(ring_words, whole),
                    ratio(ring_total, total),
                );
            }
        }
    }
}
