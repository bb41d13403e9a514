//! How long each node's tensor stays valid, so that later slices and runs skip its tasks.
//!
//! Invariants: a tensor stays valid no longer than its inputs. All writers of a buffer have the same scope
//! ([`ReuseScope`]), so a later run skips all or none. With transfers, buffers share memory only within a scope: a
//! skipped task waits for no other, so the order implied by edges through it would be lost. Work alone keeps the order
//! of its lane. A *kept* buffer, read by tasks that run again after skipped writers, shares its memory with no other.
//! Both ends of a transfer belong to one node, so both are skipped.
//!
//! The plan must mark only unchanging operands as constant.

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
    /// How long the tensor of a node stays valid.
    pub fn lasts(&self, node: usize) -> ReuseScope {
        self.lasting.get(node).copied().unwrap_or_default()
    }

    fn reuses(&self) -> bool {
        self.lasting.iter().any(|&lasts| lasts > ReuseScope::Slice)
    }

    /// The scope of each buffer's writers; `None` if they differ.
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

    /// Only buffers of one group may share memory.
    pub(super) fn sharing(&self) -> Vec<ReuseScope> {
        let transfers = self.tasks.iter().any(|task| task.action.work().is_none());
        if !transfers || !self.reuses() {
            return vec![ReuseScope::Slice; self.buffers.len()];
        }
        self.written().into_iter().map(Option::unwrap_or_default).collect()
    }

    /// Whether each buffer is kept, because tasks that run again read it after skipped writers.
    pub fn kept(&self) -> Vec<bool> {
        let mut kept = vec![false; self.buffers.len()];
        if !self.reuses() {
            return kept;
        }
        let written = self.written();
        for task in &self.tasks {
            for view in task.action.reads() {
                let own = self.buffers[view.buffer].home.is_arena();
                kept[view.buffer] |= own && written[view.buffer].is_some_and(|lasts| self.lasts(task.node) < lasts);
            }
        }
        kept
    }

    /// The first task that uses a buffer of a shorter scope, or with writers of different scopes.
    pub fn outlasts(&self) -> Option<usize> {
        if !self.reuses() {
            return None;
        }
        let written = self.written();
        self.tasks.iter().position(|task| {
            let lasts = self.lasts(task.node);
            let own = |buffer: usize| !matches!(self.buffers[buffer].home, Home::Operand(_));
            task.action
                .views()
                .any(|view| own(view.buffer) && written[view.buffer].is_none_or(|written| lasts > written))
        })
    }
}
