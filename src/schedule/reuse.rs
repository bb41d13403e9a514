//! Reuse of results: how long the tensor of a node stays valid, and the buffers that must be left untouched for that.
//!
//! ```text
//! ab,bc,cd->ad as (ab bc) cd           first run      later runs with the same ab and bc
//!   node t = ab bc   lasts: Program    computes t     nothing: t is still in its buffer
//!   node u = t cd    lasts: Slice      reads t        reads t
//! ```
//!
//! Invariants: a node lasts no longer than its inputs; all tasks that write a buffer last equally long, so that either
//! all of them are skipped or none. On several ranks, buffers share memory only with buffers that last equally long:
//! waiting for a skipped task is no wait at all, so the order after the tasks that it would have waited for would be
//! lost. A *kept* buffer is read by tasks that run again when those that wrote it do not; it shares its memory with no
//! other. Transfers are skipped at both ends, as both ends belong to one node. Deliberately absent: the promise that an
//! operand does not change, which the plan makes.

use serde::{Deserialize, Serialize};

use super::{Home, Schedule};

/// How long the tensor of a node stays valid. A shorter time compares as less.
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
    /// How long the tensor of a node stays valid.
    pub fn lasts(&self, node: usize) -> ReuseScope {
        self.lasting.get(node).copied().unwrap_or_default()
    }

    /// By buffer, how long its contents stay valid, according to the tasks that write it; `None` if these disagree.
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

    /// By buffer, its sharing group: only buffers of the same group may share memory.
    pub(super) fn sharing(&self) -> Vec<ReuseScope> {
        if self.ranks == 1 || self.lasting.iter().all(|&lasts| lasts == ReuseScope::Slice) {
            return vec![ReuseScope::Slice; self.buffers.len()];
        }
        self.written().into_iter().map(Option::unwrap_or_default).collect()
    }

    /// By buffer, whether it is read by tasks that run again when those that wrote it do not.
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

    /// The first task that lasts longer than the contents of a buffer that it uses.
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
