//! What transfers carry, as the generators of both ends state it: [`super::verify`] proves one rank alone by assuming
//! what arrives and proving what is sent.
//!
//! Invariant: sender and receiver state the same, computed from the two ranks' numbers only.

use crate::dims::Label;
use crate::distribution::{Bounds, Region};

/// The place of a transfer in the total order of all transfers: batch, node, and three numbers of the algorithm.
pub type Key = [usize; 5];

/// The numbers of an algorithm in a [`Key`], for tasks after all others of the node.
pub const LAST: usize = usize::MAX;

/// What the boxes of a transfer contain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Carried {
    pub key: Key,
    /// The node of whose tensor the boxes are.
    pub node: usize,
    /// The box of each view, in indices of the whole tensor.
    pub boxes: Vec<Bounds>,
    pub sum: CarriedSum,
}

/// Which products the elements of a transfer contain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CarriedSum {
    /// All.
    Complete,
    /// Those of these index sets of the summed dimensions, in the order in which they were added.
    Products(Vec<Region>),
    /// The sum of the partial sums that these ranks store in their blocks of the tensor, in this order.
    StoredBy(Vec<usize>),
}

/// What the transfers of one rank carry, while its schedule is built.
#[derive(Debug, Default)]
pub(super) struct Descriptions {
    /// `None` for work, and for transfers that no generator describes.
    pub of_tasks: Vec<Option<Carried>>,
    /// The number of the current batch.
    pub batch: usize,
    /// The dimension of the batch, and the batch's first index.
    pub start: Option<(Label, usize)>,
}
