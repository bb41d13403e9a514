//! Proves one rank's schedule alone, assuming that each message carries what both ends say ([`Carried`]).
//!
//! ```text
//! rank 0 of ring-mn on 2 ranks
//!   recv [k, n1] from 1             assumed to be the box k, n1 of right
//!   contract left, [k, n1] -> out1  proved to be products of out, each once
//!   send [k, n0] to 1               proved to be the box k, n0 of right
//! ```
//!
//! If this holds for all ranks, and the ends of every message say the same ([`agree`]), the whole run is correct, by
//! induction over the total order of transfers.

use super::provenance::{Content, Contents, Piece, Prior, append, products};
use super::semantics::Semantics;
use super::{Fault, Origin, Spec, VerifyError, hazard};
use crate::distribution::{Bounds, Region};
use crate::schedule::{Action, Carried, CarriedSum, Lane, Schedule, TaskId, View};

/// A schedule, and what each of its transfers carries.
#[derive(Debug, Clone)]
pub struct Described {
    pub schedule: Schedule,
    /// By task; `None` for work and for transfers that are not described.
    pub carried: Vec<Option<Carried>>,
}

impl Described {
    /// Whether every transfer is described.
    pub fn is_complete(&self) -> bool {
        let tasks = self.schedule.tasks.iter().zip(&self.carried);
        let mut described = tasks.map(|(task, carried)| carried.is_some() || task.action.lane() == Lane::Work);
        self.carried.len() == self.schedule.tasks.len() && described.all(|described| described)
    }

    /// The other ranks with which this one exchanges messages, ascending.
    pub fn peers(&self) -> Vec<usize> {
        let mut peers: Vec<usize> = self.schedule.tasks.iter().filter_map(|task| task.action.peer()).collect();
        peers.sort_unstable();
        peers.dedup();
        peers
    }

    fn messages(&self, lane: Lane, with: usize) -> impl Iterator<Item = (TaskId, Option<&Carried>)> {
        let tasks = self.schedule.tasks.iter().zip(&self.carried).enumerate();
        let wanted = tasks.filter(move |(_, (task, _))| task.action.lane() == lane && task.action.peer() == Some(with));
        wanted.map(|(id, (_, carried))| (id, carried.as_ref()))
    }
}

/// Proves one rank's schedule if all its messages are described.
///
/// # Errors
/// If a check fails, with the task of the first fault.
pub fn alone(described: &Described, spec: &Spec) -> Result<(), VerifyError> {
    let Described { schedule, carried } = described;
    hazard::check(schedule, spec)?;
    let at = |task: Option<TaskId>| move |fault| VerifyError { rank: schedule.rank, task, fault };
    in_order(described).map_err(|task| at(Some(task))(Fault::Deadlock))?;
    let rank = Semantics { spec, schedule };
    let mut contents = rank.initial();
    for (id, (task, carried)) in schedule.tasks.iter().zip(carried).enumerate() {
        match (&task.action, carried) {
            (Action::Work(work), _) => rank.work(&mut contents, work),
            (Action::Send { from, .. }, Some(carried)) => rank.sends(&contents, from, carried),
            (Action::Recv { into, .. }, Some(carried)) => rank.receives(&mut contents, into, carried),
            (Action::Send { peer, .. } | Action::Recv { peer, .. }, None) => Err(Fault::Mismatch { peer: *peer }),
        }
        .map_err(at(Some(id)))?;
    }
    rank.result(&contents).map_err(at(None))
}

/// Proves that two ranks say the same of the messages between them.
///
/// # Errors
/// If they do not, with the task of the first message that differs.
pub fn agree(one: &Described, other: &Described, spec: &Spec) -> Result<(), VerifyError> {
    let same = |a: &Carried, b: &Carried| {
        spec.tensor(a.node) == spec.tensor(b.node) && (a.key, &a.boxes, &a.sum) == (b.key, &b.boxes, &b.sum)
    };
    for (from, to) in [(one, other), (other, one)] {
        let (source, target) = (from.schedule.rank, to.schedule.rank);
        let (mut sent, mut received) = (from.messages(Lane::Send, target), to.messages(Lane::Recv, source));
        loop {
            let fault = |rank, task, peer| VerifyError { rank, task: Some(task), fault: Fault::Mismatch { peer } };
            match (sent.next(), received.next()) {
                (None, None) => break,
                (Some((_, Some(sent))), Some((_, Some(received)))) if same(sent, received) => {}
                (_, Some((task, _))) => return Err(fault(target, task, source)),
                (Some((task, _)), None) => return Err(fault(source, task, target)),
            }
        }
    }
    Ok(())
}

/// Whether transfers are in the total order. Two with the same key are a send and the receive after it, which does not
/// wait for it. Returns the first task that is not in order.
fn in_order(described: &Described) -> Result<(), TaskId> {
    let mut last: Option<(TaskId, Lane, &Carried)> = None;
    for (id, (task, carried)) in described.schedule.tasks.iter().zip(&described.carried).enumerate() {
        let Some(carried) = carried else { continue };
        let lane = task.action.lane();
        let follows = last.is_none_or(|(before, sends, earlier)| {
            let pair = (sends, lane) == (Lane::Send, Lane::Recv) && before + 1 == id && !task.after.contains(&before);
            earlier.key < carried.key || pair && earlier.key == carried.key
        });
        if !follows {
            return Err(id);
        }
        last = Some((id, lane, carried));
    }
    Ok(())
}

impl Semantics<'_> {
    fn expected(&self, views: &[View], carried: &Carried) -> Result<Vec<Piece>, Fault> {
        let (spec, schedule) = (self.spec, self.schedule);
        if views.iter().map(View::extents).ne(carried.boxes.iter().map(extents)) {
            return Err(Fault::Carries);
        }
        let piece = |(view, bounds): (&View, &Bounds)| {
            let value = spec.tensor(carried.node);
            if spec.tensor(schedule.buffers[view.buffer].node) != value {
                return Err(Fault::WrongInput(view.buffer));
            }
            let sum = match &carried.sum {
                CarriedSum::Complete => vec![Region::whole(&spec.summed(value).1)],
                CarriedSum::Products(regions) => regions.clone(),
                CarriedSum::StoredBy(ranks) => {
                    let stored = ranks.iter().map(|&rank| spec.stored_products(value, rank));
                    stored.collect::<Option<Vec<Region>>>().ok_or(Fault::Carries)?
                }
            };
            let sum = joined(sum.iter().filter(|region| !region.is_empty()), spec.values[value].order.joins());
            let alpha = matches!(spec.values[value].origin, Origin::Contract { .. }) && spec.is_result(value);
            let at = Region::from(bounds.clone());
            let ascends = sum.len() < 2;
            let content = Content { value: Some(value), at, sum, prior: Prior::Absent, alpha, ascends };
            Ok(Piece { bounds: view.bounds.clone(), content })
        };
        views.iter().zip(&carried.boxes).map(piece).collect()
    }

    fn receives(&self, contents: &mut Contents, into: &[View], carried: &Carried) -> Result<(), Fault> {
        for (view, piece) in into.iter().zip(self.expected(into, carried)?) {
            contents.write(view.buffer, piece);
        }
        Ok(())
    }

    fn sends(&self, contents: &Contents, from: &[View], carried: &Carried) -> Result<(), Fault> {
        for (view, expected) in from.iter().zip(self.expected(from, carried)?) {
            for Piece { bounds, content } in contents.read(view)? {
                let wanted = expected.part(&bounds).content;
                let value = expected.content.value.unwrap_or_default();
                let joins = self.spec.values[value].order.joins();
                let sum = joined(&content.sum, joins);
                let complete = carried.sum == CarriedSum::Complete;
                let same_sum = if complete { products(&sum) == products(&wanted.sum) } else { sum == wanted.sum };
                // Zeros of no tensor yet are sums without terms.
                let zeros = content.value.is_none() && wanted.sum.is_empty();
                let same = content.value == wanted.value && content.at == wanted.at && content.alpha == wanted.alpha;
                if !(zeros || same && same_sum && content.prior == wanted.prior) {
                    return Err(Fault::Carries);
                }
            }
        }
        Ok(())
    }
}

fn extents(bounds: &Bounds) -> Vec<usize> {
    bounds.iter().map(ExactSizeIterator::len).collect()
}

fn joined<'a>(regions: impl IntoIterator<Item = &'a Region>, joins: bool) -> Vec<Region> {
    let mut all = Vec::new();
    append(&mut all, regions, joins);
    all
}

/// Proves the rank `rank` alone, and that it agrees with up to four of its peers, whose distances depend on `number`.
/// Returns the number of ranks whose schedules were built; `None` if some transfer is not described, or possibly not as
/// it should be.
///
/// # Errors
/// If a check fails, with the rank and task of the first fault.
pub fn with_peers(
    describe: &dyn Fn(usize) -> Described,
    spec: &Spec,
    rank: usize,
    number: usize,
) -> Option<Result<usize, VerifyError>> {
    const MAX_PEERS: usize = 4;
    let described = describe(rank);
    if !described.is_complete() {
        return None;
    }
    let peers = described.peers();
    let most = MAX_PEERS.min(peers.len());
    let mut compared = (0..most).map(|at| peers[(at * peers.len() / most + number) % peers.len()]);
    let proved = alone(&described, spec);
    let proved = proved.and_then(|()| compared.try_for_each(|peer| agree(&described, &describe(peer), spec)));
    // Which rank computed partial sums is known only if each computed those of its own blocks.
    let is_stored = |carried: &Option<Carried>| matches!(carried, Some(Carried { sum: CarriedSum::StoredBy(_), .. }));
    if proved.is_err() && described.carried.iter().any(is_stored) {
        return None;
    }
    Some(proved.map(|()| 1 + most))
}
