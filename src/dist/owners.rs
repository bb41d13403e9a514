//! Which rank stands at which place of a grid.

use serde::{Deserialize, Serialize};

/// The ranks of a grid's places, in row-major order.
///
/// ```
/// # use einsum_dist::dist::Owners;
/// assert_eq!(Owners::From(4).rank(1), 5);
/// let owners = Owners::Listed(vec![2, 0, 7]);
/// assert_eq!((owners.rank(2), owners.place(7, 3), owners.place(1, 3)), (7, Some(2), None));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Owners {
    /// Consecutive ranks from this one on.
    From(usize),
    /// These, each once.
    Listed(Vec<usize>),
}

impl Default for Owners {
    fn default() -> Owners {
        Owners::From(0)
    }
}

impl Owners {
    /// The rank at a place.
    ///
    /// # Panics
    /// If the list is shorter.
    pub fn rank(&self, place: usize) -> usize {
        match self {
            Owners::From(first) => first + place,
            Owners::Listed(ranks) => ranks[place],
        }
    }

    /// The place of a rank among the first `places`. Cost: that of a search through the list.
    pub fn place(&self, rank: usize, places: usize) -> Option<usize> {
        match self {
            Owners::From(first) => rank.checked_sub(*first).filter(|&place| place < places),
            Owners::Listed(ranks) => ranks.iter().take(places).position(|&owner| owner == rank),
        }
    }

    /// One more than the largest rank of the first `places`.
    pub fn end(&self, places: usize) -> usize {
        match self {
            Owners::From(first) => first + places,
            Owners::Listed(ranks) => ranks.iter().take(places).max().map_or(0, |rank| rank + 1),
        }
    }

    /// Whether they name a rank for each of so many places, and none twice.
    pub fn fits(&self, places: usize) -> bool {
        match self {
            Owners::From(_) => true,
            Owners::Listed(ranks) => {
                let mut sorted = ranks.clone();
                sorted.sort_unstable();
                ranks.len() == places && sorted.windows(2).all(|pair| pair[0] != pair[1])
            }
        }
    }
}
