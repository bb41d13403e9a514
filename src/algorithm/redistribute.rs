//! Redistributes a tensor between any two distributions, moving only the overlaps of source and target blocks.
//!
//! ```text
//! [4, 4] from rows over 2 ranks to columns over 2 ranks
//!   rank 0: [0..2, 0..4] -> [0..4, 0..2]      keeps [0..2, 0..2], sends [0..2, 2..4] to 1
//!   rank 1: [2..4, 0..4] -> [0..4, 2..4]      keeps [2..4, 2..4], sends [2..4, 0..2] to 0
//! ```
//!
//! A rank copies the data that it already has. It receives the rest from one replica of each source block. All boxes
//! from one peer arrive in one transfer. Summands of a partial source are added in ascending order, so results are
//! bitwise reproducible. In a partial target, the first summand has the values and the other summands are zeros. In
//! round d, rank r sends to rank r + d, so that the ranks do not all send to the same rank first.
//!
//! A tensor on one rank is broadcast ([`collective`]) if more than two ranks need all of it. The broadcast uses a ring
//! if the tensor is large enough for many pieces, and a tree otherwise. Every rank receives as many bytes as with
//! direct messages, but the root sends the tensor 1 to log2(p) times instead of p - 1 times. Other collectives would
//! not save bytes, because no rank sends a byte twice.

use super::contraction::{Tensor, most_pieces};
use crate::distribution::{Bounds, Region, Role};
use crate::schedule::collective::{self, Collective, CollectiveAlgorithm, Group, Parts};
use crate::schedule::{Builder, View, Work};

/// Returns the boxes that rank `target` receives from rank `source`, in coordinates of the tensor.
fn wanted(from: &Tensor, to: &Tensor, source: usize, target: usize) -> Vec<Bounds> {
    if to.distribution.summand(target) != Some(0) || from.distribution.replica_for(source, target) != Some(source) {
        return Vec::new();
    }
    let blocks = (from.distribution.block(&from.shape, source), to.distribution.block(&to.shape, target));
    match blocks {
        (Some(have), Some(need)) => have.intersect(&need).boxes(),
        _ => Vec::new(),
    }
}

fn views(tensor: &Tensor, rank: usize, boxes: &[Bounds]) -> Vec<View> {
    boxes.iter().filter_map(|bounds| tensor.view(rank, bounds)).collect()
}

/// Returns the position of a root in a group, and the group, if the root has the whole tensor and every rank in the
/// group needs all of it. Otherwise returns `None`, also for groups of at most two ranks, in which no rank could
/// forward the tensor.
fn broadcasts(from: &Tensor, to: &Tensor) -> Option<(usize, Vec<usize>)> {
    let (from, to) = (&from.distribution, &to.distribution);
    let replicates = to.axes().iter().all(|axis| axis.ranks == 1 || axis.role == Role::Replicate);
    if from.places() != 1 || !replicates {
        return None;
    }
    let root = from.rank_at(&vec![0; from.axes().len()]);
    let ranks = to.same_as(root);
    let member = ranks.iter().position(|&rank| rank == root)?;
    (ranks.len() > 2).then_some((member, ranks))
}

/// Chooses a ring or a tree for broadcasting `elements` elements to `ranks` ranks, whichever reaches the last rank
/// earlier. Also returns the number of pieces.
fn choose_broadcast(elements: usize, ranks: usize) -> (CollectiveAlgorithm, usize) {
    let pieces = most_pieces(elements as f64);
    // Both times count transfers of one piece. In a ring, the last piece is forwarded ranks - 2 times. In a tree, the
    // root sends every piece once per level.
    let (ring, tree) = (ranks - 2 + pieces, pieces * ranks.next_power_of_two().ilog2() as usize);
    if ring < tree { (CollectiveAlgorithm::Ring, pieces) } else { (CollectiveAlgorithm::Tree, pieces) }
}

fn broadcast(builder: &mut Builder, from: &Tensor, to: &Tensor, root: usize, ranks: Vec<usize>) {
    let me = builder.rank();
    let (Some(group), Some(out)) = (Group::new(ranks, me), to.own(me, &[])) else { return };
    let have = from.own(me, &[]);
    if let Some(input) = have.clone().filter(|input| input.elements() > 0) {
        builder.work(Work::Unary { input, out: out.clone() });
    }
    let (algorithm, pieces) = choose_broadcast(out.elements(), group.ranks().len());
    let parts = Parts { at: vec![vec![have.unwrap_or(out)]], ..Parts::default() };
    collective::append(builder, (Collective::Broadcast { root }, algorithm), &group, &parts, pieces);
}

/// Appends this rank's tasks, which move a tensor from the distribution of `from` to that of `to`.
pub fn redistribute(builder: &mut Builder, from: &Tensor, to: &Tensor) {
    if let Some((root, ranks)) = broadcasts(from, to) {
        return broadcast(builder, from, to, root, ranks);
    }
    let (rank, ranks) = (builder.rank(), builder.ranks());
    let summands = from.distribution.summands();
    let need = to.distribution.block(&to.shape, rank).filter(|_| to.distribution.summand(rank) == Some(0));
    if let (Some(zeros), None) = (to.own(rank, &[]).filter(|zeros| zeros.elements() > 0), &need) {
        builder.work(Work::Fill { out: zeros });
    }
    // The second and later summands arrive in two alternating scratch blocks, and are then added onto the first
    // summand.
    let largest = need.as_ref().map(Region::extents).filter(|_| summands > 1);
    let scratch: Vec<_> = largest
        .iter()
        .flat_map(|extents| {
            [0, 1].map(|_| Tensor { buffer: Some(to.scratch(builder, extents.clone())), window: None, ..to.clone() })
        })
        .collect();

    let peers = Peers::new(from, to, rank, ranks);
    for summand in 0..summands {
        let landing = if summand == 0 { to } else { scratch.get(summand % 2).unwrap_or(to) };
        for &round in &peers.rounds {
            let (target, source) = ((rank + round) % ranks, (rank + ranks - round) % ranks);
            if from.distribution.summand(rank) == Some(summand) {
                builder.send(target, views(from, rank, &wanted(from, to, rank, target)));
            }
            if from.distribution.summand(source) == Some(summand) {
                builder.recv(source, views(landing, rank, &wanted(from, to, source, rank)));
            }
        }
        for &source in peers.sources.iter().filter(|&&source| from.distribution.summand(source) == Some(summand)) {
            let boxes = wanted(from, to, source, rank);
            let have = if source == rank { from } else { landing };
            for (input, out) in views(have, rank, &boxes).into_iter().zip(views(to, rank, &boxes)) {
                if summand > 0 {
                    builder.work(Work::Add { input, out });
                } else if source == rank {
                    builder.work(Work::Unary { input, out });
                }
            }
        }
    }
}

/// The peers of one rank.
struct Peers {
    /// The ranks whose source blocks overlap this rank's target block, possibly including this rank.
    sources: Vec<usize>,
    /// The distances to the ranks that this rank sends to and from the ranks that this rank receives from, ascending
    /// and distinct.
    rounds: Vec<usize>,
}

impl Peers {
    fn new(from: &Tensor, to: &Tensor, rank: usize, ranks: usize) -> Peers {
        let overlapping = |other: &Tensor, own: &Tensor| {
            let block = own.distribution.block(&own.shape, rank);
            block.map(|block| other.distribution.meeting(&other.shape, &block)).unwrap_or_default()
        };
        let (sources, targets) = (overlapping(from, to), overlapping(to, from));
        let behind = sources.iter().map(|&source| (rank + ranks - source) % ranks);
        let ahead = targets.iter().map(|&target| (target + ranks - rank) % ranks);
        let mut rounds: Vec<usize> = behind.chain(ahead).filter(|&round| round > 0).collect();
        rounds.sort_unstable();
        rounds.dedup();
        Peers { sources, rounds }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dims::Label;
    use crate::distribution::{Axis, Distribution, Owners};
    use crate::schedule::verify::{self, Order, Origin, Spec, Value};
    use crate::schedule::{Buffer, BufferPlacement, Factor, Home, Schedule};

    /// Returns the schedules of all ranks, after verifying them.
    fn proved(shape: &[usize], from: &Distribution, to: &Distribution, ranks: usize) -> Vec<Schedule> {
        let labels: Vec<Label> = (0..shape.len()).map(|at| Label(at as u32)).collect();
        let value = |distribution: &Distribution, origin| {
            let (labels, shape, order) = (labels.clone(), shape.to_vec(), Order::Ascending);
            Value { labels, shape, distribution: distribution.clone(), origin, order }
        };
        let values = vec![value(from, Origin::Operand(0)), value(to, Origin::Same { input: 0 })];
        let schedule = |rank| {
            let mut builder = Builder::new(rank, ranks, 4);
            let homes = [Home::Operand(0), Home::Output];
            let [from, to] = [0, 1].map(|node| {
                let Value { labels, shape, distribution, .. } = values[node].clone();
                let buffer = distribution.block(&shape, rank).map(|region| {
                    let summand = (distribution.summand(rank).unwrap_or(0), distribution.summands());
                    let (labels, extents) = (labels.clone(), region.extents());
                    let (within, place) = (extents.clone(), Some(BufferPlacement { region, summand }));
                    builder.declare(Buffer { node, labels, extents, within, home: homes[node], place })
                });
                Tensor { node, labels, shape, distribution, buffer, window: None }
            });
            redistribute(&mut builder, &from, &to);
            if let Some(out) = to.own(rank, &[]).filter(|out| out.elements() > 0) {
                builder.work(Work::Scale { out, factor: Factor::Alpha });
            }
            builder.finish()
        };
        let schedules: Vec<Schedule> = (0..ranks).map(schedule).collect();
        let spec = Spec { values: values.clone(), output: 1, accumulate: false };
        verify::whole(&schedules, &spec, None).unwrap_or_else(|error| panic!("{error}: {from:?} to {to:?}"));
        schedules
    }

    #[test]
    fn those_who_have_it_pass_it_on() {
        for ranks in 1..=9 {
            for root in 0..ranks {
                for shape in [vec![], vec![0, 3], vec![5, 7], vec![700, 300]] {
                    let single = Distribution::single().owned_by(Owners::From(root));
                    let schedules = proved(&shape, &single, &Distribution::replicated(ranks), ranks + 1);
                    let bytes = 4 * shape.iter().product::<usize>() as u64;
                    let moved = schedules.iter().map(Schedule::bytes_received).collect::<Vec<_>>();
                    let due = |rank: usize| if rank < ranks && rank != root { bytes } else { 0 };
                    assert_eq!(moved, (0..=ranks).map(due).collect::<Vec<_>>());
                    let levels = u64::from(ranks.next_power_of_two().ilog2());
                    assert!(schedules[root].bytes_sent() <= levels * bytes);
                    // Sending eight pieces along a ring is faster than sending them through three levels of a tree.
                    if (5..=9).contains(&ranks) && bytes > 4 << 17 {
                        assert_eq!(schedules[root].bytes_sent(), bytes);
                    }
                }
            }
        }
    }

    #[test]
    fn others_do_not() {
        let axes = |roles: [Role; 2]| Distribution::new(roles.map(|role| Axis { ranks: 3, role }).to_vec());
        let rows = Role::Cut { dim: 0, how: crate::distribution::Cut::Even };
        for to in
            [axes([rows.clone(), Role::Replicate]), axes([Role::Replicate, Role::Partial]), axes([rows, Role::Partial])]
        {
            proved(&[700, 300], &Distribution::single(), &to, 9);
            proved(&[700, 300], &Distribution::single().owned_by(Owners::From(9)), &Distribution::replicated(9), 10);
        }
    }
}
