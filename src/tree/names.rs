//! Distinct names for dimensions. Of several with the same letter, the first is named by the letter, the next three
//! have one to three primes appended, and all further ones a prime and a number.
//!
//! A name's cost does not depend on how many dimensions have its letter.

use std::collections::{HashMap, HashSet};

use crate::dims::Label;

const MAX_PRIMES: usize = 3;

/// Generated names; `all` is indexed by label.
#[derive(Default)]
pub struct Names {
    pub all: Vec<String>,
    used: HashSet<String>,
    attempts: HashMap<String, usize>,
}

impl Names {
    /// Adds a dimension, named `name` or, if used, by a derived name. Returns its label.
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
