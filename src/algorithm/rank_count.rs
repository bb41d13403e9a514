//! The numbers of ranks on which an algorithm can run without idle ranks.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RankCount {
    Any,
    /// For others, the algorithm runs on the next smaller square if [`PlanOptions::idle`](crate::PlanOptions::idle)
    /// permits idle ranks.
    Square,
}

impl RankCount {
    pub const fn at_most(self, ranks: usize) -> usize {
        match self {
            RankCount::Any => ranks,
            RankCount::Square => ranks.isqrt() * ranks.isqrt(),
        }
    }

    pub const fn allows(self, ranks: usize) -> bool {
        self.at_most(ranks) == ranks
    }

    /// The requirement that `ranks` does not meet, as a phrase for messages.
    pub fn needs(self, ranks: usize) -> Option<String> {
        if self.allows(ranks) {
            return None;
        }
        let side = ranks.isqrt();
        let (below, above) = (side * side, (side + 1) * (side + 1));
        let nearest = if ranks - below <= above - ranks { below } else { above };
        Some(format!("a square number of ranks, of which {nearest} is the nearest to {ranks}, unless some may be idle"))
    }
}

#[cfg(test)]
mod tests;
