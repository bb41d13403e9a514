//! How a rank tells another one of its node which boxes to read where they lie.
//!
//! ```text
//! words    process | per box: segment, file, its identity, bytes, offset, element, dimensions, extents .., strides ..
//! ```
//!
//! Invariant: what [`Mapped::read`] makes of words that a rank of this run has written lies inside of what is mapped, or there is an error;
//! other ranks are trusted, as words could be made up that overflow. Segments stay mapped for later
//! transfers: of all peers together those that were used last, as many as the tables of their pages are worth. Deliberately absent:
//! boxes of so many dimensions, or so many boxes, that a slot does not hold them; these are copied through slots.

use std::collections::VecDeque;
use std::io::{Error, ErrorKind, Result};
use std::rc::Rc;

use crate::memory::{Foreign, Known, Lent, Mapping, Remote, Strided, machine_bytes};

/// Segments that stay mapped: all that a few peers can have. A process may have 65,530 mappings of any kind.
const MOST: usize = 1024;
/// How much of a node's memory all its ranks together keep mapped, as a multiple: the tables of its pages take a 512th of that.
const TIMES: usize = 4;
/// Words of a box besides its extents and strides.
const FIXED: usize = 8;

/// Bytes that say where boxes of this process, whose number is given, lie.
pub(super) fn write(process: u32, boxes: &[Lent]) -> Vec<u8> {
    let words = 1 + boxes.iter().map(|lent| FIXED + 2 * lent.strided.extents.len()).sum::<usize>();
    let mut told = Vec::with_capacity(words * size_of::<u64>());
    let mut word = |word: u64| told.extend(word.to_ne_bytes());
    word(u64::from(process));
    for Lent { segment, offset, element, strided } in boxes {
        let Known { id, file, bytes, identity: [system, node] } = *segment;
        let fixed = [bytes, *offset, *element, strided.extents.len()].map(|number| number as u64);
        [id, file as u64, system, node].into_iter().chain(fixed).for_each(&mut word);
        strided.extents.iter().for_each(|&extent| word(extent as u64));
        strided.strides.iter().for_each(|&stride| word(stride as u64));
    }
    told
}

/// What a process has mapped of others, by process and segment, the last used first.
#[derive(Debug)]
pub(super) struct Mapped {
    kept: VecDeque<((u32, u64), Rc<Mapping>)>,
    segments: usize,
    bytes: usize,
}

impl Mapped {
    /// Of a rank of a node with so many.
    pub(super) fn new(ranks: usize) -> Mapped {
        let bytes = machine_bytes().map_or(usize::MAX, |bytes| bytes.saturating_mul(TIMES) / ranks.max(1));
        Mapped { kept: VecDeque::new(), segments: MOST, bytes }
    }

    /// The boxes that some bytes tell of.
    ///
    /// # Errors
    /// The system does not let this process read them, or they are no boxes.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Result<Foreign> {
        let no_box = || Error::from(ErrorKind::InvalidData);
        let words = bytes.as_chunks().0;
        let number = |word: &[u8; 8]| u64::from_ne_bytes(*word);
        let (process, mut rest) = words.split_first().ok_or_else(no_box)?;
        let mut boxes = Vec::with_capacity(1);
        while let Some((fixed, behind)) = rest.split_first_chunk::<FIXED>() {
            let [id, file, system, node, bytes, offset, element, dims] = fixed.each_ref().map(number);
            let (extents, behind) = behind.split_at_checked(dims as usize).ok_or_else(no_box)?;
            let (strides, behind) = behind.split_at_checked(dims as usize).ok_or_else(no_box)?;
            let segment = Known { id, file: file as i32, bytes: bytes as usize, identity: [system, node] };
            let extents = extents.iter().map(|extent| number(extent) as usize).collect();
            let strides = strides.iter().map(|stride| number(stride) as isize).collect();
            let strided = Strided { extents, strides };
            let lent = Lent { segment, offset: offset as usize, element: element as usize, strided };
            let mapping = self.mapping(number(process) as u32, segment)?;
            boxes.push(Remote::new(lent, mapping).ok_or_else(no_box)?);
            rest = behind;
        }
        Ok(Foreign::new(boxes))
    }

    fn mapping(&mut self, process: u32, segment: Known) -> Result<Rc<Mapping>> {
        let name = (process, segment.id);
        let known = self.kept.iter().position(|(kept, _)| *kept == name);
        if let Some((_, mapping)) = known.and_then(|at| self.kept.remove(at)) {
            self.kept.push_front((name, mapping.clone()));
            return Ok(mapping);
        }
        self.shrink(self.segments.saturating_sub(1), self.bytes.saturating_sub(segment.bytes));
        let mapping = Mapping::of(process, segment).or_else(|_| {
            self.shrink(0, 0);
            Mapping::of(process, segment)
        })?;
        let mapping = Rc::new(mapping);
        self.kept.push_front((name, mapping.clone()));
        Ok(mapping)
    }

    /// Gives back what nobody reads, the longest unused first, until so much is left.
    fn shrink(&mut self, segments: usize, bytes: usize) {
        let mut held: usize = self.kept.iter().map(|(_, mapping)| mapping.bytes()).sum();
        for at in (0..self.kept.len()).rev() {
            if self.kept.len() <= segments && held <= bytes {
                return;
            }
            let mapping = &self.kept[at].1;
            if Rc::strong_count(mapping) == 1 {
                held -= mapping.bytes();
                self.kept.remove(at);
            }
        }
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use crate::memory::{Aligned, WantedSegments};

    const BYTES: usize = 64 << 10;

    #[test]
    fn what_was_used_last_stays_mapped() {
        let _wanted = WantedSegments::default();
        let memory: Vec<_> = (0..5).map(|_| Aligned::zeroed(BYTES, &Default::default()).unwrap()).collect();
        let told: Vec<_> =
            memory.iter().map(|memory| write(std::process::id(), &[Lent::sample(memory).unwrap()])).collect();
        let ids: Vec<_> = memory.iter().map(|memory| Lent::sample(memory).unwrap().segment.id).collect();
        for (segments, bytes) in [(3, usize::MAX), (MOST, 3 * BYTES)] {
            let mut mapped = Mapped { segments, bytes, ..Mapped::new(2) };
            let kept = |mapped: &Mapped| mapped.kept.iter().map(|((_, id), _)| *id).collect::<Vec<_>>();
            for at in [0, 1, 2, 0, 3] {
                assert_eq!(mapped.read(&told[at]).unwrap().left(), BYTES);
            }
            assert_eq!(kept(&mapped), [ids[3], ids[0], ids[2]]);
            // What is being read stays.
            let reading = [2, 0, 3].map(|at| mapped.read(&told[at]).unwrap());
            assert_eq!(mapped.read(&told[4]).unwrap().left(), BYTES);
            assert_eq!(kept(&mapped), [4, 3, 0, 2].map(|at| ids[at]));
            drop(reading);
            mapped.shrink(0, 0);
            assert!(mapped.kept.is_empty());
        }
    }
}
