//! What the planner minimises.

use std::cmp::Ordering;
use std::ops::Add;

use serde::{Deserialize, Serialize};

/// What the planner minimises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Objective {
    /// Predicted seconds.
    #[default]
    Time,
    /// Bytes that the busiest rank receives, then predicted seconds. At most 3 % of the ranks, or one, idle for fewer.
    Bytes,
}

impl Objective {
    /// All variants.
    pub const ALL: [Objective; 2] = [Objective::Time, Objective::Bytes];

    /// The name on the command line, in plans and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Objective::Time => "time",
            Objective::Bytes => "bytes",
        }
    }

    pub(crate) fn compare(self, one: Price, other: Price) -> Ordering {
        let bytes = match self {
            Objective::Time => Ordering::Equal,
            Objective::Bytes => one.bytes.total_cmp(&other.bytes),
        };
        bytes.then(one.seconds.total_cmp(&other.seconds))
    }
}

/// Predicted for the busiest rank.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Price {
    /// Seconds.
    pub seconds: f64,
    /// Received bytes; 0 if not counted.
    pub bytes: f64,
}

impl Price {
    pub fn of_work(seconds: f64) -> Price {
        Price { seconds, bytes: 0.0 }
    }

    pub fn max(self, other: Price) -> Price {
        Price { seconds: self.seconds.max(other.seconds), bytes: self.bytes.max(other.bytes) }
    }
}

impl Add for Price {
    type Output = Price;

    fn add(self, other: Price) -> Price {
        Price { seconds: self.seconds + other.seconds, bytes: self.bytes + other.bytes }
    }
}
