//! Why axes and owners are no grid of ranks, or a grid does not fit a tensor or a run.

/// A grid of ranks that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "fields are what messages say")]
pub enum GridError {
    /// An axis of no rank.
    #[error("axis {axis} of the grid has no rank")]
    NoRank { axis: usize },
    /// A cut into another number of tiles than the axis has ranks, out of order, or into blocks of nothing.
    #[error("axis {axis} of the grid has {ranks} ranks, which its cut does not divide a dimension among")]
    Cut { axis: usize, ranks: usize },
    /// More places than there are numbers.
    #[error("it needs {axes} ranks, more than 64 bits count")]
    Places { axes: String },
    /// Ranks beyond the largest number.
    #[error("it begins at rank {first}, and its {places} ranks end beyond what 64 bits count")]
    End { first: usize, places: usize },
    /// Owners that are not one for each place.
    #[error("its owners are not {places} ranks, each once")]
    Owners { places: usize },
    /// A tensor of fewer dimensions.
    #[error("it cuts dimension {dim} of {dims}")]
    Dimension { dim: usize, dims: usize },
    /// More ranks than there are.
    #[error("it needs {needed} ranks, and there are {ranks}")]
    Ranks { needed: usize, ranks: usize },
    /// Blocks of very many pieces, each of which schedules name.
    #[error(
        "blocks of rank 0 would be {pieces} separate pieces, {most} at most are possible: take larger cyclic blocks"
    )]
    Pieces { pieces: usize, most: usize },
}
