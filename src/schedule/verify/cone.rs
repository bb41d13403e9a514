//! What the blocks of some ranks come from, one step of a plan at a time.
//!
//! ```text
//! out of rank 0 after one step of a grid        from
//!   rank 0   all its tasks of the step
//!   rank 1   the sends of its part of left      its own block: nothing else of rank 1 is followed
//!   rank 4   the sends of its summand of out    its contractions, and what these received
//! ```
//!
//! Invariant: a step's inputs are taken to be what the plan says they are, as the steps before were found to leave them. A sum in
//! parts and the step that adds these up are one step here, and so are a contraction that makes the result and what brings it to
//! where it is wanted, which is scaled on its way.

use std::collections::{BTreeMap, BTreeSet};

use super::classes::Outline;
use super::{Facts, Order, Origin, Value, VerifyError, run};
use crate::schedule::{Action, Buffer, Home, Lane, Schedule, Task, TaskId};

/// Tasks that are followed at once: what is in memory of their schedules.
const AT_ONCE: usize = 1 << 20;

pub struct Cone<'a> {
    pub outlines: &'a [Vec<Outline>],
    /// Whose blocks are followed.
    pub chosen: &'a [usize],
    pub facts: &'a Facts,
    /// All steps are one.
    pub together: bool,
}

/// The tasks of each rank that have to do with a step, in order.
type Needed = BTreeMap<usize, Vec<TaskId>>;

impl Cone<'_> {
    /// Follows all steps; how many ranks had to do with them.
    pub fn check(&self, schedule: &dyn Fn(usize) -> Schedule) -> Result<usize, VerifyError> {
        let mut seen = vec![false; self.outlines.len()];
        let mut open: Vec<(Vec<usize>, Needed)> = Vec::new();
        let mut tasks = 0;
        for unit in self.units() {
            let needed = self.needed(&unit);
            needed.keys().for_each(|&rank| seen[rank] = true);
            tasks += needed.values().map(Vec::len).sum::<usize>();
            open.push((unit, needed));
            if tasks > AT_ONCE {
                self.follow(&std::mem::take(&mut open), schedule)?;
                tasks = 0;
            }
        }
        self.follow(&open, schedule)?;
        Ok(seen.into_iter().filter(|seen| *seen).count())
    }

    /// Values that are followed together, the last of each its result.
    fn units(&self) -> Vec<Vec<usize>> {
        let values = &self.facts.values;
        if self.together {
            let made = |id: &usize| !matches!(values[*id].origin, Origin::Operand(_));
            return vec![(0..values.len()).filter(made).collect()];
        }
        let mut units: Vec<Vec<usize>> = Vec::new();
        for (id, value) in values.iter().enumerate() {
            let joins = match value.origin {
                Origin::Operand(_) => continue,
                Origin::Same { input } => {
                    let summed = values[input].distribution.summands() > 1;
                    (summed || self.facts.is_result(id)) && !matches!(values[input].origin, Origin::Operand(_))
                }
                _ => false,
            };
            let before = match value.origin {
                Origin::Same { input } if joins => units.iter_mut().find(|unit| unit.last() == Some(&input)),
                _ => None,
            };
            match before {
                Some(unit) => unit.push(id),
                None => units.push(vec![id]),
            }
        }
        units
    }

    /// Backwards from all tasks of the step on the chosen ranks.
    fn needed(&self, unit: &[usize]) -> Needed {
        let mut marked: BTreeMap<usize, Vec<bool>> = BTreeMap::new();
        let mut open: Vec<(usize, TaskId)> = Vec::new();
        for &rank in self.chosen {
            let tasks = self.outlines[rank].iter().enumerate();
            marked.insert(rank, vec![false; tasks.len()]);
            open.extend(tasks.filter(|(_, task)| unit.contains(&task.node)).map(|(id, _)| (rank, id)));
        }
        while let Some((rank, id)) = open.pop() {
            let tasks = &self.outlines[rank];
            if !unit.contains(&tasks[id].node) {
                continue;
            }
            let marks = marked.entry(rank).or_insert_with(|| vec![false; tasks.len()]);
            if std::mem::replace(&mut marks[id], true) {
                continue;
            }
            open.extend(tasks[id].after.iter().map(|&before| (rank, before as usize)));
            if tasks[id].lane == Lane::Recv {
                open.push((tasks[id].peer, tasks[id].partner));
            }
        }
        let listed = |marks: Vec<bool>| (0..marks.len()).filter(|&id| marks[id]).collect();
        marked.into_iter().map(|(rank, marks)| (rank, listed(marks))).collect()
    }

    fn follow(&self, units: &[(Vec<usize>, Needed)], schedule: &dyn Fn(usize) -> Schedule) -> Result<(), VerifyError> {
        let ranks: Vec<usize> =
            units.iter().flat_map(|(_, needed)| needed.keys().copied()).collect::<BTreeSet<_>>().into_iter().collect();
        let parts: Vec<Vec<Option<Schedule>>> = ranks
            .into_iter()
            .map(|rank| {
                let whole = schedule(rank);
                let part =
                    |(unit, needed): &(Vec<usize>, Needed)| Some(self.part(&whole, unit, needed.get(&rank)?, needed));
                units.iter().map(part).collect()
            })
            .collect();
        units.iter().enumerate().try_for_each(|(at, (unit, _))| {
            let parts: Vec<&Schedule> = parts.iter().filter_map(|of_rank| of_rank[at].as_ref()).collect();
            run::step(&parts, &self.facts_of(unit), self.chosen, unit.last() == Some(&self.facts.output))
        })
    }

    /// The tasks of a rank that are followed, with what they read as operands.
    fn part(&self, whole: &Schedule, unit: &[usize], tasks: &[TaskId], needed: &Needed) -> Schedule {
        let mut places = vec![None; whole.tasks.len()];
        let mut kept: Vec<Task> = Vec::with_capacity(tasks.len());
        for &id in tasks {
            let task = &whole.tasks[id];
            // What only others need of a rank that is looked at is not followed to them.
            if let Action::Send { peer, .. } = task.action {
                let partner = self.outlines[whole.rank][id].partner;
                if needed.get(&peer).is_none_or(|there| there.binary_search(&partner).is_err()) {
                    continue;
                }
            }
            places[id] = Some(kept.len());
            let after = task.after.iter().filter_map(|&before| places[before]).collect();
            kept.push(Task { after, ..task.clone() });
        }
        let last = *unit.last().unwrap_or(&self.facts.output) == self.facts.output;
        let buffers = whole.buffers.iter().map(|buffer| {
            let made = unit.contains(&buffer.node);
            let home = match buffer.home {
                // Given, as far as this step goes.
                Home::Arena if !made && buffer.place.is_some() => Home::Operand(0),
                // Of no other step.
                Home::Output if !last => Home::Arena,
                home => home,
            };
            Buffer { home, ..buffer.clone() }
        });
        Schedule {
            rank: whole.rank,
            ranks: whole.ranks,
            element: whole.element,
            buffers: buffers.collect(),
            tasks: kept,
            offsets: Vec::new(),
            arena_bytes: 0,
            sections: Vec::new(),
            lasting: Vec::new(),
        }
    }

    /// The plan with all but one step as operands.
    fn facts_of(&self, unit: &[usize]) -> Facts {
        let values = self.facts.values.iter().enumerate().map(|(id, value)| {
            let Value { labels, shape, distribution, origin, order } = value;
            let (origin, order) = if unit.contains(&id) {
                (origin.clone(), order.clone())
            } else {
                (Origin::Operand(0), Order::Ascending)
            };
            Value { labels: labels.clone(), shape: shape.clone(), distribution: distribution.clone(), origin, order }
        });
        let output = unit.last().copied().unwrap_or(self.facts.output);
        let accumulate = self.facts.accumulate && output == self.facts.output;
        Facts { values: values.collect(), output, accumulate }
    }
}
