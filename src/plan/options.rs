//! What a user fixes of a plan.

use std::str::FromStr;

use crate::dtype::Dtype;

/// An algorithm by its name on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlgorithmName {
    Local,
    C,
    RingMn,
    RingK,
}

impl AlgorithmName {
    pub const ALL: [AlgorithmName; 4] =
        [AlgorithmName::Local, AlgorithmName::C, AlgorithmName::RingMn, AlgorithmName::RingK];

    pub const fn name(self) -> &'static str {
        match self {
            AlgorithmName::Local => "local",
            AlgorithmName::C => "c",
            AlgorithmName::RingMn => "ring-mn",
            AlgorithmName::RingK => "ring-k",
        }
    }

    /// What a contraction must have for it.
    pub const fn needs(self) -> &'static str {
        match self {
            AlgorithmName::Local => "nothing",
            AlgorithmName::C => "a dimension of kind c, in both operands and in the output",
            AlgorithmName::RingMn => "a dimension of kind m and one of kind n",
            AlgorithmName::RingK => "a dimension of kind k, and one of kind m or n",
        }
    }
}

impl FromStr for AlgorithmName {
    type Err = String;

    fn from_str(text: &str) -> Result<AlgorithmName, String> {
        let known = AlgorithmName::ALL.map(AlgorithmName::name).join(", ");
        AlgorithmName::ALL
            .into_iter()
            .find(|algorithm| algorithm.name() == text)
            .ok_or_else(|| format!("unknown algorithm `{text}` (known: auto, {known})"))
    }
}

/// Choices of a plan; the default lets the cost model choose.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    pub dtype: Dtype,
    /// For every contraction; `None` chooses for each.
    pub algorithm: Option<AlgorithmName>,
    /// Names of one or two dimensions that algorithms must cut, in contractions that have them.
    pub cut: Vec<String>,
    /// Plan for an output that holds values and is added onto.
    pub accumulate: bool,
    /// Bytes per rank that buffers may take.
    pub memory_limit: Option<u64>,
    /// Redistribution of an intermediate is an error.
    pub forbid_redistribution: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            dtype: Dtype::Float32,
            algorithm: None,
            cut: Vec::new(),
            accumulate: false,
            memory_limit: None,
            forbid_redistribution: false,
        }
    }
}
