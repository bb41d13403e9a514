//! Generates distinct names for dimensions. If several dimensions have the same letter, the first keeps the letter as
//! its name. The next three have one to three primes appended to the letter. All further dimensions have a prime and a
//! number appended.
//!
//! The cost of generating a name does not depend on the number of dimensions with the same letter. An expression may
//! therefore have thousands of brackets, each with its own `j`.

use std::collections::{HashMap, HashSet};

use crate::dims::Label;

/// Maximum number of primes in a name.
const MAX_PRIMES: usize = 3;

/// The names of all dimensions so far. `all` is indexed by label.
#[derive(Default)]
pub struct Names {
    pub all: Vec<String>,
    used: HashSet<String>,
    /// For each name, the number of attempts so far to derive a new name from it.
    attempts: HashMap<String, usize>,
}

impl Names {
    /// Adds a dimension, and returns its label. Its name is `name` if this name is unused, or is derived from `name`
    /// otherwise.
    pub fn fresh(&mut self, name: &str) -> Label {
        let mut unused = name.to_owned();
        while self.used.contains(&unused) {
            let attempts = self.attempts.entry(name.to_owned()).or_default();
            *attempts += 1;
            unused = match *attempts {
                primes @ ..=MAX_PRIMES => name.to_owned() + &"'".repeat(primes),
                number => format!("{name}'{number}"),
            };
        }
        self.used.insert(unused.clone());
        self.all.push(unused);
        Label(self.all.len() as u32 - 1)
    }
}

#[cfg(test)]
mod tests;
