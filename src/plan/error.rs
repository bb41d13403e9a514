//! Why there is no plan.

/// A request that cannot be planned.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PlanError {
    #[error("algorithm {algorithm} does not apply to `{node}`: it needs {needs}")]
    NoAlgorithm { algorithm: &'static str, node: String, needs: &'static str },
    #[error("no algorithm cuts {cut} in `{node}`{hint}")]
    NoCut { cut: String, node: String, hint: String },
    #[error("{0}")]
    Path(String),
    #[error("there is no dimension `{0}` to cut")]
    UnknownCut(String),
    #[error("`{node}` needs {tensor} redistributed from {from} to {to}, which is forbidden")]
    Redistribution { node: String, tensor: String, from: String, to: String },
    #[error("rank {rank} needs {needed} bytes, {} more than the memory limit of {limit}, {place}", needed - limit)]
    Memory { rank: usize, needed: u64, limit: u64, place: String },
    #[error("operand {operand} is said to be constant, and there are {operands} operands")]
    Constant { operand: usize, operands: usize },
    #[error("tensor `{0}` has more elements than a machine can address")]
    TooLarge(String),
    #[error("a plan needs at least one rank and one worker")]
    NoRanks,
}
