//! Defines the errors for grids of ranks.

/// An invalid grid of ranks, or one that does not match a tensor or a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "fields are what messages say")]
pub enum GridError {
    /// An axis has no ranks.
    #[error("axis {axis} of the grid has no rank")]
    NoRank { axis: usize },
    /// A cut is invalid for its axis: a wrong number of tiles, indices that do not ascend, or empty cyclic blocks.
    #[error("axis {axis} of the grid has {ranks} ranks, which its cut does not divide a dimension among")]
    Cut { axis: usize, ranks: usize },
    /// The number of places (the product over the axes) overflows.
    #[error("it needs {axes} ranks, more than 64 bits count")]
    Places { axes: String },
    /// The number of the last rank overflows.
    #[error("it begins at rank {first}, and its {places} ranks end beyond what 64 bits count")]
    End { first: usize, places: usize },
    /// The owners do not assign a distinct rank to each place.
    #[error("its owners are not {places} ranks, each once")]
    Owners { places: usize },
    /// The grid cuts a dimension that the tensor lacks.
    #[error("it cuts dimension {dim} of {dims}")]
    Dimension { dim: usize, dims: usize },
    /// The grid needs more ranks than the run has.
    #[error("it needs {needed} ranks, and there are {ranks}")]
    Ranks { needed: usize, ranks: usize },
    /// A block would have too many separate boxes, all of which schedules list.
    #[error(
        "blocks of rank 0 would be {pieces} separate pieces, {most} at most are possible: take larger cyclic blocks"
    )]
    Pieces { pieces: usize, most: usize },
}
