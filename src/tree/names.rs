//! Names of dimensions, each once: of several with one letter, all but the first get primes, and numbers where there are many.
//!
//! Invariant: a name costs as much whatever its letter names already, so that thousands of brackets may each have their own `j`.

use std::collections::{HashMap, HashSet};

use crate::dims::Label;

/// Primes that tell dimensions of one letter apart.
const MOST_PRIMES: usize = 3;

/// Names by label.
#[derive(Default)]
pub struct Names {
    pub all: Vec<String>,
    used: HashSet<String>,
    /// How often another dimension was named after one of this name.
    again: HashMap<String, usize>,
}

impl Names {
    /// A new dimension of this name, or of one that is made of it.
    pub fn fresh(&mut self, name: &str) -> Label {
        let mut unused = name.to_owned();
        while self.used.contains(&unused) {
            let again = self.again.entry(name.to_owned()).or_default();
            *again += 1;
            unused = match *again {
                primes @ ..=MOST_PRIMES => name.to_owned() + &"'".repeat(primes),
                number => format!("{name}'{number}"),
            };
        }
        self.used.insert(unused.clone());
        self.all.push(unused);
        Label(self.all.len() as u32 - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_short() {
        let mut names = Names::default();
        for name in ["j", "j", "k", "j", "j'", "j", "j", "k"] {
            names.fresh(name);
        }
        assert_eq!(names.all, ["j", "j'", "k", "j''", "j'''", "j'4", "j'5", "k'"]);
        (0..10_000).for_each(|_| {
            names.fresh("j");
        });
        assert!(names.all.iter().all(|name| name.len() <= 7));
    }
}
