//! Hashes steps such that those that differ only in the names of dimensions are equal.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};

use xxhash_rust::xxh3::Xxh3Default;

use super::structure::{Source, Value};

#[derive(Default)]
struct UpToNames {
    hash: Xxh3Default,
    numbers: HashMap<u32, u32>,
}

impl Hasher for UpToNames {
    fn write(&mut self, bytes: &[u8]) {
        self.hash.update(bytes);
    }

    /// Of all that is hashed, only labels have 32 bits.
    fn write_u32(&mut self, label: u32) {
        let next = self.numbers.len() as u32;
        let number = *self.numbers.entry(label).or_insert(next);
        self.write(&number.to_ne_bytes());
    }

    fn finish(&self) -> u64 {
        self.hash.digest()
    }
}

/// A hash of values, with their sources in terms of these values.
pub fn up_to_names<'a>(values: impl IntoIterator<Item = (&'a Value, Source)>) -> u128 {
    let mut hash = UpToNames::default();
    for (Value { labels, shape, distribution, lasts, .. }, source) in values {
        (labels, shape, distribution, lasts, source).hash(&mut hash);
    }
    hash.hash.digest128()
}
