//! Errors: why axes and owners do not form a grid of ranks, or why a grid does not fit a tensor or a run.

/// An invalid grid of ranks, or one that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "fields are what messages say")]
pub enum GridError {
    /// An axis without ranks.
    #[error("axis {axis} of the grid has no rank")]
    NoRank { axis: usize },
    /// A cut whose number of tiles differs from the number of ranks of the axis, whose indices are not ascending, or
    /// whose blocks are empty.
    #[error("axis {axis} of the grid has {ranks} ranks, which its cut does not divide a dimension among")]
    Cut { axis: usize, ranks: usize },
    /// The number of places overflows.
    #[error("it needs {axes} ranks, more than 64 bits count")]
    Places { axes: String },
    /// The number of a rank overflows.
    #[error("it begins at rank {first}, and its {places} ranks end beyond what 64 bits count")]
    End { first: usize, places: usize },
    /// The owners are not one distinct rank per place.
    #[error("its owners are not {places} ranks, each once")]
    Owners { places: usize },
    /// The tensor has too few dimensions.
    #[error("it cuts dimension {dim} of {dims}")]
    Dimension { dim: usize, dims: usize },
    /// The grid needs more ranks than there are.
    #[error("it needs {needed} ranks, and there are {ranks}")]
    Ranks { needed: usize, ranks: usize },
    /// Blocks of too many separate pieces; schedules list each of them.
    #[error(
        "blocks of rank 0 would be {pieces} separate pieces, {most} at most are possible: take larger cyclic blocks"
    )]
    Pieces { pieces: usize, most: usize },
}
