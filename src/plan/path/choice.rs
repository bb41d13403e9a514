//! The user's choice of a path.

use std::str::FromStr;

/// How the contraction order is found. It depends only on the expression, extents, element type, machine, budget and
/// speed ([`PlanOptions::path_speed`](crate::PlanOptions::path_speed)).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum PathChoice {
    /// The best order, as written or from greedy, exhaustive search or annealing, found within a minute and as long as
    /// searching is expected to pay over all runs.
    #[default]
    Auto,
    /// The best of several orders that contract the pair with the smallest result first.
    Greedy,
    /// The order with the fewest operations. Orders that leave products without a common label to the end come first,
    /// then all others if few enough. If time ([`PlanOptions::path_seconds`](crate::PlanOptions::path_seconds)) or
    /// memory runs out, the best greedy or annealed order is used.
    Optimal,
    /// Simulated annealing from greedy orders and recursive bisection, with fixed seeds.
    Anneal,
    /// From left to right, as written.
    LeftToRight,
    /// Positions in the list of tensors. A step removes its tensors from the list and appends their result, as in
    /// opt_einsum.
    Explicit(Vec<Vec<usize>>),
    /// Numbers of tensors, as in cotengra's SSA paths: operands from 0, then results in the order of steps.
    Numbered(Vec<Vec<usize>>),
}

impl FromStr for PathChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<PathChoice, String> {
        match text.trim() {
            "auto" => Ok(PathChoice::Auto),
            "greedy" => Ok(PathChoice::Greedy),
            "optimal" => Ok(PathChoice::Optimal),
            "anneal" => Ok(PathChoice::Anneal),
            "left-to-right" => Ok(PathChoice::LeftToRight),
            text if text.starts_with(['(', '[']) => explicit(text).map(PathChoice::Explicit),
            text => Err(format!(
                "unknown path `{text}` (known: auto, greedy, optimal, anneal, left-to-right, or positions: \"(0,1),(0,1)\")"
            )),
        }
    }
}

fn explicit(text: &str) -> Result<Vec<Vec<usize>>, String> {
    // Python writes a tuple of one element with a trailing comma.
    let list = text.trim_end_matches(',').replace(",)", "]").replace('(', "[").replace(')', "]");
    let list = if text.starts_with('[') { list } else { format!("[{list}]") };
    let steps: Option<Vec<Vec<usize>>> = serde_json::from_str(&list).ok();
    let steps = steps.filter(|steps| !steps.is_empty() && steps.iter().all(|step| !step.is_empty()));
    steps.ok_or_else(|| format!("path `{text}` is not written as positions: \"(0,1),(0,1)\""))
}

#[cfg(test)]
mod tests;
