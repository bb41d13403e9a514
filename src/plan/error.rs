//! The errors of the planner.

/// A request that cannot be planned.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "fields are what messages say")]
pub enum PlanError {
    /// The forced algorithm needs other dimensions or ranks.
    #[error("algorithm {algorithm} does not apply to `{node}`: it needs {needs}")]
    NoAlgorithm { algorithm: &'static str, node: String, needs: String },
    /// No algorithm cuts the dimensions that must be cut.
    #[error("no algorithm cuts {cut} in `{node}`{hint}")]
    NoCut { cut: String, node: String, hint: String },
    /// A prescribed distribution is not possible.
    #[error("{0}")]
    Distribution(String),
    /// A path does not fit the expression, or cannot be searched.
    #[error("{0}")]
    Path(String),
    /// A dimension to cut is not in the expression.
    #[error("there is no dimension `{0}` to cut")]
    UnknownCut(String),
    /// A redistribution is required but forbidden.
    #[error("`{node}` needs {tensor} redistributed from {from} to {to}, which is forbidden")]
    Redistribution { node: String, tensor: String, from: String, to: String },
    /// No plan fits into the memory limit.
    #[error("rank {rank} needs {needed} bytes, {} more than the memory limit of {limit}, {place}", needed - limit)]
    Memory { rank: usize, needed: u64, limit: u64, place: String },
    /// A run would never finish all slices.
    #[error("the memory limit of {limit} bytes takes more than {most} slices: they would never end")]
    TooManySlices { limit: u64, most: u64 },
    /// No such constant operand.
    #[error("operand {operand} is said to be constant, and there are {operands} operands")]
    Constant { operand: usize, operands: usize },
    /// No such operand to conjugate.
    #[error("operand {operand} is to be conjugated, and there are {operands} operands")]
    Conjugate { operand: usize, operands: usize },
    /// A tensor exceeds every address space.
    #[error("tensor `{0}` has more elements than a machine can address")]
    TooLarge(String),
    /// The machine lacks ranks or workers.
    #[error("a plan needs at least one rank and one worker")]
    NoRanks,
    /// The machine has too many ranks.
    #[error("plans are made for at most {most} ranks, not for {ranks}")]
    TooManyRanks { ranks: usize, most: usize },
    /// The machine fails [`Machine::check`](crate::Machine::check).
    #[error("the machine cannot be planned for: {0}")]
    Machine(String),
}
