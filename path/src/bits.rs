//! Sets of small numbers as bit masks of `W` words.

use std::hash::Hasher;

/// A set of numbers below 64 x `W`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Bits<const W: usize>(pub [u64; W]);

impl<const W: usize> Default for Bits<W> {
    fn default() -> Bits<W> {
        Bits([0; W])
    }
}

impl<const W: usize> Bits<W> {
    #[inline(always)]
    pub fn insert(&mut self, number: usize) {
        self.0[number / 64] |= 1 << (number % 64);
    }

    pub fn with(mut self, number: usize) -> Bits<W> {
        self.insert(number);
        self
    }

    pub fn has(&self, number: usize) -> bool {
        self.0[number / 64] >> (number % 64) & 1 == 1
    }

    pub fn meets(&self, other: &Bits<W>) -> bool {
        (0..W).any(|word| self.0[word] & other.0[word] != 0)
    }

    pub fn within(&self, other: &Bits<W>) -> bool {
        (0..W).all(|word| self.0[word] & !other.0[word] == 0)
    }

    pub fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    #[inline(always)]
    pub fn remove(&mut self, number: usize) {
        self.0[number / 64] &= !(1 << (number % 64));
    }

    #[inline(always)]
    pub fn and(&self, other: &Bits<W>) -> Bits<W> {
        Bits(std::array::from_fn(|word| self.0[word] & other.0[word]))
    }

    #[inline(always)]
    pub fn or(&self, other: &Bits<W>) -> Bits<W> {
        Bits(std::array::from_fn(|word| self.0[word] | other.0[word]))
    }

    #[inline(always)]
    pub fn without(&self, other: &Bits<W>) -> Bits<W> {
        Bits(std::array::from_fn(|word| self.0[word] & !other.0[word]))
    }

    pub fn iter(self) -> impl Iterator<Item = usize> {
        self.0.into_iter().enumerate().flat_map(|(at, mut word)| {
            std::iter::from_fn(move || {
                (word != 0).then(|| {
                    let bit = word.trailing_zeros() as usize;
                    word &= word - 1;
                    64 * at + bit
                })
            })
        })
    }
}

/// Multiplies words. The standard hasher would take longer than all other work.
#[derive(Default)]
pub struct BitHasher(u64);

impl Hasher for BitHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        // The constant is splitmix64's. High bits are folded into the low bits, because a table may use either.
        let mixed = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ mixed >> 32;
    }
}

#[cfg(test)]
mod tests;
