//! Determines how long the tensor of each node stays valid. Later slices and runs skip the tasks for a tensor that is
//! still valid, and reuse the tensor. This module also determines the buffers that must not be overwritten for this
//! reason.
//!
//! ```text
//! ab,bc,cd->ad as (ab bc) cd           first run      later runs with the same ab and bc
//!   node t = ab bc   lasts: Program    computes t     nothing: t is still in its buffer
//!   node u = t cd    lasts: Slice      reads t        reads t
//! ```
//!
//! Invariants: the tensor of a node stays valid no longer than the inputs of the node. All tasks that write a buffer
//! have the same scope ([`ReuseScope`]), so a later run skips either all or none of them. If there are several ranks,
//! buffers share memory only with buffers of the same scope. Otherwise, a task could have an edge from a skipped task.
//! A skipped task waits for no other task, so the order of tasks that its edges imply would be lost. A *kept* buffer is
//! read by tasks that run again, while the tasks that wrote it are skipped. It shares its memory with no other buffer.
//! A transfer is skipped on both ranks, because its send and its receive belong to the same node.
//!
//! This module relies on the plan to mark an operand as constant only if the operand does not change.

use serde::{Deserialize, Serialize};

use super::{Home, Schedule};

/// How long the tensor of a node stays valid. `Slice < Run < Program`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReuseScope {
    /// Until the next slice or the next run.
    #[default]
    Slice,
    /// Throughout all slices of a run.
    Run,
    /// Throughout all runs.
    Program,
}

impl Schedule {
    /// Returns how long the tensor of a node stays valid.
    pub fn lasts(&self, node: usize) -> ReuseScope {
        self.lasting.get(node).copied().unwrap_or_default()
    }

    /// Returns, for each buffer, the scope of the tasks that write it, or `None` if these tasks have different scopes.
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

    /// Returns the sharing group of each buffer. Only buffers in the same group may share memory.
    pub(super) fn sharing(&self) -> Vec<ReuseScope> {
        if self.ranks == 1 || self.lasting.iter().all(|&lasts| lasts == ReuseScope::Slice) {
            return vec![ReuseScope::Slice; self.buffers.len()];
        }
        self.written().into_iter().map(Option::unwrap_or_default).collect()
    }

    /// Returns, for each buffer, whether its contents must be kept between runs or slices. This is the case if a task
    /// that runs again reads the buffer, but the tasks that wrote it are skipped.
    pub fn kept(&self) -> Vec<bool> {
        let mut kept = vec![false; self.buffers.len()];
        // Most plans skip no tasks, and therefore keep no buffer.
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

    /// Returns the first invalid task, if any. A task is invalid if it uses a buffer whose contents have a shorter
    /// scope than the task itself, or whose writers have different scopes.
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
