//! Why there is no plan.

/// A request that cannot be planned.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "fields are what messages say")]
pub enum PlanError {
    /// A forced algorithm needs kinds of dimensions that a step lacks.
    #[error("algorithm {algorithm} does not apply to `{node}`: it needs {needs}")]
    NoAlgorithm { algorithm: &'static str, node: String, needs: String },
    /// What must be cut has no algorithm that does it.
    #[error("no algorithm cuts {cut} in `{node}`{hint}")]
    NoCut { cut: String, node: String, hint: String },
    /// A tensor cannot lie so.
    #[error("{0}")]
    Distribution(String),
    /// A path that is none of this expression, or a search that is not possible.
    #[error("{0}")]
    Path(String),
    /// What must be cut is no dimension of the expression.
    #[error("there is no dimension `{0}` to cut")]
    UnknownCut(String),
    /// Operands of a step lie otherwise than it needs them, and may not be moved.
    #[error("`{node}` needs {tensor} redistributed from {from} to {to}, which is forbidden")]
    Redistribution { node: String, tensor: String, from: String, to: String },
    /// The plan does not fit, and no slices help.
    #[error("rank {rank} needs {needed} bytes, {} more than the memory limit of {limit}, {place}", needed - limit)]
    Memory { rank: usize, needed: u64, limit: u64, place: String },
    /// The plan fits in slices only that are too many to ever end.
    #[error("the memory limit of {limit} bytes takes more than {most} slices: they would never end")]
    TooManySlices { limit: u64, most: u64 },
    /// A constant operand is none.
    #[error("operand {operand} is said to be constant, and there are {operands} operands")]
    Constant { operand: usize, operands: usize },
    /// Bytes of a tensor are more than an address has values.
    #[error("tensor `{0}` has more elements than a machine can address")]
    TooLarge(String),
    /// A machine of nothing.
    #[error("a plan needs at least one rank and one worker")]
    NoRanks,
    /// More ranks than there is time and memory to plan for.
    #[error("plans are made for at most {most} ranks, not for {ranks}")]
    TooManyRanks { ranks: usize, most: usize },
    /// A machine with numbers that no machine has ([`Machine::check`](crate::Machine::check)).
    #[error("the machine cannot be planned for: {0}")]
    Machine(String),
}
