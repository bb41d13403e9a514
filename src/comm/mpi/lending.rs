//! How a rank tells another one of its node which boxes to read where they lie.
//!
//! ```text
//! words    process | per box: segment, file, bytes, offset, element, dimensions, extents .., strides ..
//! ```
//!
//! Invariant: what [`read`] makes of anything lies inside of what is mapped, or there is nothing. Segments stay mapped for later transfers,
//! the last [`MOST`] of a peer. Deliberately absent: boxes of so many dimensions, or so many boxes, that a slot does not hold them; these are
//! copied through slots.

use std::collections::VecDeque;
use std::rc::Rc;

use crate::memory::{Foreign, Known, Lent, Mapping, Remote, Strided};

/// Segments of a peer that stay mapped.
const MOST: usize = 64;
/// Words of a box besides its extents and strides.
const FIXED: usize = 6;

/// Bytes that say where boxes of this process lie.
pub(super) fn write(boxes: &[Lent]) -> Vec<u8> {
    let mut words = vec![u64::from(std::process::id())];
    for Lent { segment, offset, element, strided } in boxes {
        let [bytes, offset, element] = [segment.bytes, *offset, *element].map(|number| number as u64);
        words.extend([segment.id, segment.file as u64, bytes, offset, element, strided.extents.len() as u64]);
        words.extend(strided.extents.iter().map(|&extent| extent as u64));
        words.extend(strided.strides.iter().map(|&stride| stride as u64));
    }
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// What a process has mapped of another one.
#[derive(Debug, Default)]
pub(super) struct Mapped(VecDeque<(u64, Rc<Mapping>)>);

impl Mapped {
    /// The boxes that some bytes tell of.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Option<Foreign> {
        let words: Vec<u64> = bytes.as_chunks().0.iter().map(|word| u64::from_ne_bytes(*word)).collect();
        let (process, mut rest) = words.split_first()?;
        let mut boxes = Vec::new();
        while let Some((&[id, file, bytes, offset, element, dims], behind)) = rest.split_first_chunk::<FIXED>() {
            let (extents, behind) = behind.split_at_checked(dims as usize)?;
            let (strides, behind) = behind.split_at_checked(dims as usize)?;
            let segment = Known { id, file: file as i32, bytes: bytes as usize };
            let extents = extents.iter().map(|&extent| extent as usize).collect();
            let strides = strides.iter().map(|&stride| stride as isize).collect();
            let strided = Strided { extents, strides };
            let lent = Lent { segment, offset: offset as usize, element: element as usize, strided };
            boxes.push(Remote::new(lent, self.mapping(*process as u32, segment)?)?);
            rest = behind;
        }
        Some(Foreign::new(boxes))
    }

    fn mapping(&mut self, process: u32, segment: Known) -> Option<Rc<Mapping>> {
        if let Some((_, mapping)) = self.0.iter().find(|(id, _)| *id == segment.id) {
            return Some(mapping.clone());
        }
        let mapping = Rc::new(Mapping::of(process, segment.file, segment.bytes)?);
        self.0.truncate(MOST - 1);
        self.0.push_front((segment.id, mapping.clone()));
        Some(mapping)
    }
}
