//! Tests collectives by generating the schedules of all ranks and proving them with the verifier. For the verifier, a
//! collective has one operand, and its result is the same tensor in a different distribution.

use super::{Collective, CollectiveAlgorithm, Group, Parts, Pattern, append, listed};
use crate::dims::Label;
use crate::distribution::{Axis, Cut, Distribution, Intervals, Owners, Region, Role};
use crate::schedule::verify::{self, Fault, Order, Origin, Spec, Summand, Value, VerifyError};
use crate::schedule::{Buffer, BufferId, BufferPlacement, Builder, Factor, Home, Schedule, View, Work};

const COLUMNS: usize = 3;
const LABELS: [Label; 2] = [Label(0), Label(1)];

/// A collective on some of the ranks of a run. Its parts are blocks of rows of a tensor; `rows` is the number of rows
/// in each part.
struct Case {
    collective: Collective,
    algorithm: CollectiveAlgorithm,
    /// The ranks of the members, in order.
    ranks: Vec<usize>,
    rows: Vec<usize>,
    pieces: usize,
    onto: bool,
}

impl Case {
    fn shape(&self) -> Vec<usize> {
        vec![self.rows.iter().sum(), COLUMNS]
    }

    fn pattern(&self) -> Pattern {
        Pattern::new(self.collective, self.algorithm, self.ranks.len())
    }

    /// Returns the view of a part in a buffer that contains the complete tensor.
    fn part(&self, buffer: BufferId, part: usize) -> Vec<View> {
        let start = self.rows[..part].iter().sum();
        vec![View { buffer, bounds: vec![start..start + self.rows[part], 0..COLUMNS] }]
    }

    /// Returns the distributions of the tensor before and after the collective.
    fn distributions(&self) -> [Distribution; 2] {
        let on = |role| {
            let axis = Axis { ranks: self.ranks.len(), role };
            Distribution::new(vec![axis]).owned_by(Owners::Listed(self.ranks.clone()))
        };
        let ends = self.rows.iter().scan(0, |end, rows| {
            *end += rows;
            Some(*end)
        });
        let how = Cut::At(ends.take(self.rows.len() - 1).collect());
        let cut = || on(Role::Cut { dim: 0, how: how.clone() });
        let single = |root: usize| Distribution::single().owned_by(Owners::From(self.ranks[root]));
        match self.collective {
            Collective::Broadcast { root } => [single(root), on(Role::Replicate)],
            Collective::Scatter { root } => [single(root), cut()],
            Collective::Gather { root } => [cut(), single(root)],
            Collective::AllGather => [cut(), on(Role::Replicate)],
            Collective::ReduceScatter => [on(Role::Partial), cut()],
            Collective::AllReduce => [on(Role::Partial), on(Role::Replicate)],
        }
    }

    /// Returns the specification for the verifier, with sums in the order of `algorithm`.
    fn spec(&self, algorithm: CollectiveAlgorithm) -> Spec {
        let pattern = Pattern::new(self.collective, algorithm, self.ranks.len());
        let mut order = vec![Vec::new(); self.all_ranks()];
        for (member, sums) in pattern.sums().iter().enumerate() {
            let one = |member: usize| Region::from(vec![Intervals::from(member..member + 1)]);
            let made = |member| vec![Summand { of: Region::whole(&self.shape()), products: one(member) }];
            let part = |part: usize| self.part(0, part).pop().map(|view| Region::from(view.bounds));
            order[self.ranks[member]] = listed(sums, member, made, part);
        }
        let origins = [Origin::Operand(0), Origin::Same { input: 0 }];
        let values = self.distributions().into_iter().zip(origins).map(|(distribution, origin)| {
            let (labels, order) =
                (LABELS.to_vec(), Order::Listed(order.iter().cloned().map(Into::into).enumerate().collect()));
            Value { labels, shape: self.shape(), distribution, origin, order, conjugated: false }
        });
        Spec { values: values.collect(), output: 1, accumulate: self.onto }
    }

    /// Returns the number of ranks, which is one more than the number of members, so that one rank is idle.
    fn all_ranks(&self) -> usize {
        self.ranks.len() + 1
    }

    fn schedule(&self, rank: usize) -> Schedule {
        let mut builder = Builder::new(rank, self.all_ranks(), 4);
        let homes = [Home::Operand(0), Home::Output];
        let [operand, out] = [0, 1].map(|node| {
            let distribution = &self.distributions()[node];
            let region = distribution.block(&self.shape(), rank)?;
            let summand = (distribution.summand(rank)?, distribution.summands());
            let (extents, labels) = (region.extents(), LABELS.to_vec());
            let (within, place) = (extents.clone(), Some(BufferPlacement { region, summand }));
            Some(builder.declare(Buffer { node, labels, extents, within, home: homes[node], place }))
        });
        let Some(group) = Group::new(self.ranks.clone(), rank) else { return builder.finish() };
        let parts = self.parts(&mut builder, group.me(), operand, out);
        append(&mut builder, (self.collective, self.algorithm), &group, &parts, self.pieces, None);
        if let (Some(out), false) = (out, self.pattern().reduces()) {
            let out = all(&builder, out);
            work(&mut builder, &out, |out| Work::Scale { out, factor: Factor::Alpha });
        }
        builder.finish()
    }

    /// Appends the copy of this member's own data into the boxes that the collective uses, and returns these boxes.
    /// Parts that are forwarded or summed use a buffer with the extents of the tensor.
    fn parts(&self, builder: &mut Builder, me: usize, operand: Option<BufferId>, out: Option<BufferId>) -> Parts {
        let (labels, extents) = (LABELS.to_vec(), self.shape());
        let within = extents.clone();
        let pass = builder.declare(Buffer { node: 1, labels, extents, within, home: Home::Exchange, place: None });
        let every = |buffer: BufferId| (0..self.rows.len()).map(|part| self.part(buffer, part)).collect::<Vec<_>>();
        let mut at = every(pass);
        match (self.collective, operand, out) {
            (Collective::Broadcast { .. }, operand, Some(out)) => {
                at = vec![vec![all(builder, out)]];
                if let Some(operand) = operand {
                    copy(builder, operand, at[0][0].clone());
                }
                Parts { at, ..Parts::default() }
            }
            (Collective::Scatter { .. }, Some(operand), Some(out)) => {
                let input = self.part(operand, me).remove(0);
                let out = all(builder, out);
                work(builder, &out, |out| Work::Unary { input, out });
                Parts { at: every(operand), ..Parts::default() }
            }
            (Collective::Scatter { .. }, None, Some(out)) => {
                at[me] = vec![all(builder, out)];
                Parts { at, ..Parts::default() }
            }
            (Collective::Gather { .. }, Some(operand), None) => {
                at[me] = vec![all(builder, operand)];
                Parts { at, ..Parts::default() }
            }
            (Collective::Gather { .. } | Collective::AllGather, Some(operand), Some(out)) => {
                copy(builder, operand, self.part(out, me).remove(0));
                Parts { at: every(out), ..Parts::default() }
            }
            (_, Some(operand), Some(out)) => {
                let whole = all(builder, pass);
                copy(builder, operand, whole.clone());
                work(builder, &whole, |out| Work::Scale { out, factor: Factor::Alpha });
                let mut at = vec![Vec::new(); self.rows.len()];
                if self.collective == Collective::AllReduce {
                    at = every(out);
                } else {
                    at[me] = vec![all(builder, out)];
                }
                Parts { at, summands: every(pass), onto: self.onto }
            }
            other => panic!("no member is without its tensor: {other:?}"),
        }
    }

    fn verify(&self, order: CollectiveAlgorithm) -> Result<(), VerifyError> {
        let schedules: Vec<Schedule> = (0..self.all_ranks()).map(|rank| self.schedule(rank)).collect();
        verify::whole(&schedules, &self.spec(order), None)
    }

    fn check(&self) {
        let what = || format!("{:?} {:?} on {:?}, {:?} rows", self.collective, self.algorithm, self.ranks, self.rows);
        if let Err(error) = self.verify(self.algorithm) {
            panic!("{error}: {}\n{:#?}", what(), self.schedule(error.rank));
        }
        // Each rank must receive exactly the bytes of the messages that the pattern sends to it.
        let rows = |part: usize| if self.pattern().parts() == 1 { self.shape()[0] } else { self.rows[part] };
        for (member, &rank) in self.ranks.iter().enumerate() {
            let to_me = self.pattern().messages().filter(|message| message.to == member);
            let rows: usize = to_me.flat_map(|message| message.parts.iter()).map(rows).sum();
            assert_eq!(self.schedule(rank).bytes_received(), (rows * COLUMNS * 4) as u64, "{}", what());
        }
    }
}

fn all(builder: &Builder, buffer: BufferId) -> View {
    let bounds = builder.buffer(buffer).extents.iter().map(|&extent| 0..extent).collect();
    View { buffer, bounds }
}

fn work(builder: &mut Builder, out: &View, what: impl FnOnce(View) -> Work) {
    if out.elements() > 0 {
        builder.work(what(out.clone()));
    }
}

fn copy(builder: &mut Builder, from: BufferId, to: View) {
    let input = all(builder, from);
    work(builder, &to, |out| Work::Unary { input, out });
}

/// Returns all ranks in `0..=members` except one, in permuted order.
fn some_ranks(members: usize) -> Vec<usize> {
    let mut ranks: Vec<usize> = (0..=members).collect();
    ranks.remove(members / 3);
    ranks.rotate_left(members / 2);
    ranks.swap(0, members - 1);
    ranks
}

#[test]
fn every_collective_verifies() {
    for members in 1..=9 {
        // Tests parts of unequal size (some of them empty), parts of equal size, and empty parts only.
        let sizes = [(0..members).map(|part| 5 * part % 4).collect(), vec![2; members], vec![0; members]];
        let roots = (0..members).flat_map(|root| {
            [Collective::Broadcast { root }, Collective::Scatter { root }, Collective::Gather { root }]
        });
        let all = [Collective::AllGather, Collective::ReduceScatter, Collective::AllReduce];
        for (number, collective) in roots.chain(all).enumerate() {
            for (which, rows) in sizes.iter().enumerate() {
                for algorithm in CollectiveAlgorithm::ALL {
                    let (ranks, rows, pieces) = (some_ranks(members), rows.clone(), 1 + (number + which) % 4);
                    let onto = [Collective::ReduceScatter, Collective::AllReduce].contains(&collective) && which < 2;
                    let case = Case { collective, algorithm, ranks, rows, pieces, onto: false };
                    case.check();
                    if onto {
                        Case { onto, ..case }.check();
                    }
                }
            }
        }
    }
}

#[test]
fn larger_groups_verify() {
    for members in [13, 16, 17] {
        let rooted = [Collective::Broadcast { root: 5 }, Collective::Scatter { root: 12 }];
        let all = [Collective::Gather { root: 4 }, Collective::AllGather, Collective::AllReduce];
        for collective in rooted.into_iter().chain(all) {
            for algorithm in CollectiveAlgorithm::ALL {
                let rows = (0..members).map(|part| 5 * part % 4).collect();
                Case { collective, algorithm, ranks: some_ranks(members), rows, pieces: 2, onto: false }.check();
            }
        }
    }
}

/// Tests that the verifier checks the order of addition. It must reject a schedule if the specification contains the
/// order of a different algorithm.
#[test]
fn another_order_is_refused() {
    for collective in [Collective::ReduceScatter, Collective::AllReduce] {
        for algorithm in CollectiveAlgorithm::ALL {
            let case = Case { collective, algorithm, ranks: some_ranks(5), rows: vec![2; 5], pieces: 1, onto: false };
            for other in CollectiveAlgorithm::ALL.into_iter().filter(|&other| other != algorithm) {
                let fault = case.verify(other).map_err(|error| error.fault);
                assert_eq!(fault, Err(Fault::Order), "{algorithm:?} for {other:?}");
            }
        }
    }
}
