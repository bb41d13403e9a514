//! Encodes where boxes are, for another rank on the node to read them in place.
//!
//! Invariant: [`Mapped::read`] returns boxes inside the mapped memory or an error, for words of a rank of this run;
//! overflow by forged words is not checked. Recently used segments stay mapped, within limits because of page tables.
//! Boxes whose description exceeds a slot of `channel` are copied through slots.

use std::collections::VecDeque;
use std::io::{Error, ErrorKind, Result};
use std::rc::Rc;

use crate::memory::{ExportedView, Mapping, Remote, RemoteReader, SegmentHandle, Strided, machine_bytes};

/// Linux allows about 65,530 mappings.
const MAX_MAPPED_SEGMENTS: usize = 1024;
/// Limit on a node's mapped bytes, as a multiple of its memory; page tables take 1/512 of them.
const MAX_MAPPED_MULTIPLE: usize = 4;
const FIXED_WORDS: usize = 8;

pub(super) fn write(process: u32, boxes: &[ExportedView]) -> Vec<u8> {
    let words = 1 + boxes.iter().map(|view| FIXED_WORDS + 2 * view.strided.extents.len()).sum::<usize>();
    let mut description = Vec::with_capacity(words * size_of::<u64>());
    let mut word = |word: u64| description.extend(word.to_ne_bytes());
    word(u64::from(process));
    for ExportedView { segment, offset, element, strided } in boxes {
        let SegmentHandle { id, file, bytes, identity: [system, node] } = *segment;
        let fixed = [bytes, *offset, *element, strided.extents.len()].map(|number| number as u64);
        [id, file as u64, system, node].into_iter().chain(fixed).for_each(&mut word);
        strided.extents.iter().for_each(|&extent| word(extent as u64));
        strided.strides.iter().for_each(|&stride| word(stride as u64));
    }
    description
}

/// By process and number, most recently used first.
#[derive(Debug)]
pub(super) struct Mapped {
    mappings: VecDeque<((u32, u64), Rc<Mapping>)>,
    segments: usize,
    bytes: usize,
}

impl Mapped {
    /// The node's `ranks` ranks share the limit on mapped bytes equally.
    pub(super) fn new(ranks: usize) -> Mapped {
        let bytes =
            machine_bytes().map_or(usize::MAX, |bytes| bytes.saturating_mul(MAX_MAPPED_MULTIPLE) / ranks.max(1));
        Mapped { mappings: VecDeque::new(), segments: MAX_MAPPED_SEGMENTS, bytes }
    }

    /// # Errors
    /// If this process is not allowed to read the segments, or the bytes do not encode boxes.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Result<RemoteReader> {
        let no_box = || Error::from(ErrorKind::InvalidData);
        let words = bytes.as_chunks().0;
        let number = |word: &[u8; 8]| u64::from_ne_bytes(*word);
        let (process, mut rest) = words.split_first().ok_or_else(no_box)?;
        let mut boxes = Vec::with_capacity(1);
        while let Some((fixed, behind)) = rest.split_first_chunk::<FIXED_WORDS>() {
            let [id, file, system, node, bytes, offset, element, dims] = fixed.each_ref().map(number);
            let (extents, behind) = behind.split_at_checked(dims as usize).ok_or_else(no_box)?;
            let (strides, behind) = behind.split_at_checked(dims as usize).ok_or_else(no_box)?;
            let segment = SegmentHandle { id, file: file as i32, bytes: bytes as usize, identity: [system, node] };
            let extents = extents.iter().map(|extent| number(extent) as usize).collect();
            let strides = strides.iter().map(|stride| number(stride) as isize).collect();
            let strided = Strided { extents, strides };
            let view = ExportedView { segment, offset: offset as usize, element: element as usize, strided };
            let mapping = self.mapping(number(process) as u32, segment)?;
            boxes.push(Remote::new(view, mapping).ok_or_else(no_box)?);
            rest = behind;
        }
        Ok(RemoteReader::new(boxes))
    }

    fn mapping(&mut self, process: u32, segment: SegmentHandle) -> Result<Rc<Mapping>> {
        let name = (process, segment.id);
        let known = self.mappings.iter().position(|(kept, _)| *kept == name);
        if let Some((_, mapping)) = known.and_then(|at| self.mappings.remove(at)) {
            self.mappings.push_front((name, mapping.clone()));
            return Ok(mapping);
        }
        self.shrink(self.segments.saturating_sub(1), self.bytes.saturating_sub(segment.bytes));
        let mapping = Mapping::of(process, segment).or_else(|_| {
            self.shrink(0, 0);
            Mapping::of(process, segment)
        })?;
        let mapping = Rc::new(mapping);
        self.mappings.push_front((name, mapping.clone()));
        Ok(mapping)
    }

    /// Unmaps unused segments, least recently used first.
    fn shrink(&mut self, segments: usize, bytes: usize) {
        let mut mapped_bytes: usize = self.mappings.iter().map(|(_, mapping)| mapping.bytes()).sum();
        for at in (0..self.mappings.len()).rev() {
            if self.mappings.len() <= segments && mapped_bytes <= bytes {
                return;
            }
            let mapping = &self.mappings[at].1;
            if Rc::strong_count(mapping) == 1 {
                mapped_bytes -= mapping.bytes();
                self.mappings.remove(at);
            }
        }
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;
