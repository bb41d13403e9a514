//! What need not be computed again: how long the tensor of a node holds, and the buffers that must be left alone for that.
//!
//! ```text
//! ab,bc,cd->ad as (ab bc) cd           first run      later runs with the same ab and bc
//!   node t = ab bc   lasts: Program    computes t     nothing: t is still in its buffer
//!   node u = t cd    lasts: Slice      reads t        reads t
//! ```
//!
//! Invariants: a node lasts no longer than what it is made of; all tasks that write a buffer last equally long, so that either
//! all of them are left out or none. On several ranks buffers share memory only with those that last as long: whoever waits for
//! a task that is left out waits for nothing, so what that one had waited for would be forgotten. A *kept*
//! buffer is read by tasks that run again when those that wrote it do not; it shares its memory with no other. Transfers are left out at both ends, as these serve one node. Deliberately absent: who
//! promises that an operand does not change, which is the plan's.

use serde::{Deserialize, Serialize};

use super::{Home, Schedule};

/// How long the tensor of a node holds. Shorter is less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReuseScope {
    /// Until the next slice, or the next run.
    #[default]
    Slice,
    /// Through all slices of a run.
    Run,
    /// Through all runs.
    Program,
}

impl Schedule {
    /// How long the tensor of a node holds.
    pub fn lasts(&self, node: usize) -> ReuseScope {
        self.lasting.get(node).copied().unwrap_or_default()
    }

    /// How long what a buffer is written with holds: by the tasks that write it, and `None` where these disagree.
    pub(super) fn written(&self) -> Vec<Option<ReuseScope>> {
        let mut written: Vec<Result<Option<ReuseScope>, ()>> = vec![Ok(None); self.buffers.len()];
        for task in &self.tasks {
            let lasts = self.lasts(task.node);
            for buffer in task.action.writes().into_iter().map(|view| view.buffer) {
                written[buffer] = match written[buffer] {
                    Ok(None) => Ok(Some(lasts)),
                    Ok(Some(same)) if same == lasts => Ok(Some(lasts)),
                    _ => Err(()),
                };
            }
        }
        written.into_iter().map(|lasts| lasts.ok().map(Option::unwrap_or_default)).collect()
    }

    /// By buffer, with which others it may share memory: those of the same number.
    pub(super) fn sharing(&self) -> Vec<ReuseScope> {
        if self.ranks == 1 || self.lasting.iter().all(|&lasts| lasts == ReuseScope::Slice) {
            return vec![ReuseScope::Slice; self.buffers.len()];
        }
        self.written().into_iter().map(Option::unwrap_or_default).collect()
    }

    /// By buffer, whether tasks read it that run again when those that wrote it do not.
    pub fn kept(&self) -> Vec<bool> {
        let mut kept = vec![false; self.buffers.len()];
        // Most plans compute everything in every run.
        if self.lasting.iter().all(|&lasts| lasts == ReuseScope::Slice) {
            return kept;
        }
        let written = self.written();
        for task in &self.tasks {
            for view in task.action.reads() {
                let own = matches!(self.buffers[view.buffer].home, Home::Arena | Home::Exchange);
                kept[view.buffer] |= own && written[view.buffer].is_some_and(|lasts| self.lasts(task.node) < lasts);
            }
        }
        kept
    }

    /// The first task that uses a buffer for longer than what is in it holds.
    pub fn outlasts(&self) -> Option<usize> {
        if self.lasting.iter().all(|&lasts| lasts == ReuseScope::Slice) {
            return None;
        }
        let written = self.written();
        self.tasks.iter().position(|task| {
            let lasts = self.lasts(task.node);
            let own = |buffer: usize| !matches!(self.buffers[buffer].home, Home::Operand(_));
            let mut views = task.action.reads().into_iter().chain(task.action.writes());
            views.any(|view| own(view.buffer) && written[view.buffer].is_none_or(|written| lasts > written))
        })
    }
}
