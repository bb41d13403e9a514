//! Encodes where the boxes of one rank are in memory, so that another rank on the same node can read the boxes in
//! place.
//!
//! ```text
//! words    process | per box: segment, file, its identity, bytes, offset, element, dimensions, extents .., strides ..
//! ```
//!
//! Invariant: [`Mapped::read`] returns boxes inside the mapped memory or an error, provided that a rank of this run
//! wrote the words. Ranks trust each other: forged words could cause an arithmetic overflow. Recently used segments of
//! peers stay mapped for later transfers. Limits on the number and the total size of mapped segments bound the size of
//! the page tables. If the description of a transfer does not fit into a slot (`channel`), the boxes are copied through
//! slots instead.

use std::collections::VecDeque;
use std::io::{Error, ErrorKind, Result};
use std::rc::Rc;

use crate::memory::{ExportedView, Mapping, Remote, RemoteReader, SegmentHandle, Strided, machine_bytes};

/// Maximum number of segments that stay mapped. This is enough for all segments of a few peers. Linux allows a process
/// about 65,530 mappings.
const MAX_MAPPED_SEGMENTS: usize = 1024;
/// Limit on the number of bytes that the ranks of a node keep mapped in total, as a multiple of the node's memory. The
/// page tables occupy 1/512 of these bytes.
const MAX_MAPPED_MULTIPLE: usize = 4;
/// Number of words per box, in addition to its extents and strides.
const FIXED_WORDS: usize = 8;

/// Encodes the locations of boxes in this process's memory. `process` is the id of this process.
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

/// The segments of other processes that this process has mapped, most recently used first. A segment is identified by
/// its process and its number.
#[derive(Debug)]
pub(super) struct Mapped {
    mappings: VecDeque<((u32, u64), Rc<Mapping>)>,
    segments: usize,
    bytes: usize,
}

impl Mapped {
    /// Creates an empty list. The `ranks` ranks of the node share the limit on mapped bytes equally.
    pub(super) fn new(ranks: usize) -> Mapped {
        let bytes =
            machine_bytes().map_or(usize::MAX, |bytes| bytes.saturating_mul(MAX_MAPPED_MULTIPLE) / ranks.max(1));
        Mapped { mappings: VecDeque::new(), segments: MAX_MAPPED_SEGMENTS, bytes }
    }

    /// Decodes boxes and maps their segments.
    ///
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

    /// Unmaps segments that are not being read, least recently used first, until at most `segments` segments with at
    /// most `bytes` bytes remain mapped.
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
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::dtype::Dtype;
    use crate::memory::{Aligned, Incoming, Outgoing, Slot, Store, StoreKind, WantedSegments};

    const BYTES: usize = 64 << 10;

    fn description(boxes: &[ExportedView]) -> Vec<u8> {
        write(std::process::id(), boxes)
    }

    #[test]
    fn what_was_used_last_stays_mapped() {
        let _wanted = WantedSegments::default();
        let memory: Vec<_> = (0..5).map(|_| Aligned::zeroed(BYTES, &Default::default()).unwrap()).collect();
        let description: Vec<_> =
            memory.iter().map(|memory| description(&[ExportedView::sample(memory).unwrap()])).collect();
        let ids: Vec<_> = memory.iter().map(|memory| ExportedView::sample(memory).unwrap().segment.id).collect();
        for (segments, bytes) in [(3, usize::MAX), (MAX_MAPPED_SEGMENTS, 3 * BYTES)] {
            let mut mapped = Mapped { segments, bytes, ..Mapped::new(2) };
            let kept = |mapped: &Mapped| mapped.mappings.iter().map(|((_, id), _)| *id).collect::<Vec<_>>();
            for at in [0, 1, 2, 0, 3] {
                assert_eq!(mapped.read(&description[at]).unwrap().left(), BYTES);
            }
            assert_eq!(kept(&mapped), [ids[3], ids[0], ids[2]]);
            // Segments that are being read stay mapped.
            let reading = [2, 0, 3].map(|at| mapped.read(&description[at]).unwrap());
            assert_eq!(mapped.read(&description[4]).unwrap().left(), BYTES);
            assert_eq!(kept(&mapped), [4, 3, 0, 2].map(|at| ids[at]));
            drop(reading);
            mapped.shrink(0, 0);
            assert!(mapped.mappings.is_empty());
        }
    }

    #[test]
    fn boxes_are_copied_in_parts_of_any_size() {
        let _wanted = WantedSegments::default();
        let mut memory = Aligned::zeroed(2 * BYTES, &Default::default()).unwrap();
        memory.as_mut_slice().iter_mut().enumerate().for_each(|(at, byte)| *byte = (at * 7 % 251) as u8);
        let extents = [32, 32, 32];
        let store = Store::open(vec![Some(Slot::owned(Arc::new(memory), 0, Dtype::Float32, &extents))]);
        let boxes = [[1..20, 0..32, 3..30], [4..4, 0..32, 0..32], [30..32, 0..32, 0..32], [20..21, 5..9, 0..32]];
        let read = || boxes.iter().map(|bounds| store.read(0, bounds).unwrap()).collect::<Vec<_>>();
        let mut expected = Vec::new();
        for lease in read() {
            let start = expected.len();
            expected.resize(start + lease.bytes(), 0);
            lease.pack(&mut expected[start..]);
        }
        let description = description(&Outgoing::new(read()).lend().unwrap());
        let mut mapped = Mapped::new(2);
        let elements = expected.len() / 4;
        for step in [1, 7, 500, 100_000, expected.len()] {
            let memory = Aligned::zeroed(expected.len(), &Default::default()).unwrap();
            let slot = Slot::owned(Arc::new(memory), 0, Dtype::Float32, &[1, elements]);
            let into = Store::open(vec![Some(slot)]);
            let parts = [0..1000, 1000..elements].map(|part| into.write(0, &[0..1, part]).unwrap());
            let mut incoming = Incoming::new(parts.into());
            let mut reader = mapped.read(&description).unwrap();
            while reader.left() > 0 {
                let bytes = step.min(reader.left());
                incoming.copy(&mut reader, bytes, StoreKind::Cached);
            }
            assert_eq!(incoming.left(), 0);
            let mut received = vec![0; expected.len()];
            into.read(0, &[0..1, 0..elements]).unwrap().pack(&mut received);
            assert!(received == expected, "steps of {step} bytes");
        }
    }

    #[test]
    fn what_is_no_box_is_refused() {
        let _wanted = WantedSegments::default();
        let memory = Aligned::zeroed(BYTES, &Default::default()).unwrap();
        let good = ExportedView::sample(&memory).unwrap();
        let mut mapped = Mapped::new(2);
        let mut left = |view: ExportedView| mapped.read(&description(&[view])).map_or(0, |reader| reader.left());
        assert_eq!(left(good.clone()), BYTES);
        for (offset, extent, stride) in [
            (1, BYTES, 1),
            (0, BYTES + 1, 1),
            (0, 2, -1),
            (BYTES, 1, 1),
            (usize::MAX, 1, 1),
            (usize::MAX, 2, isize::MIN),
            (0, 2, isize::MAX),
        ] {
            let strided = Strided { extents: [extent].as_slice().into(), strides: [stride].as_slice().into() };
            assert_eq!(left(ExportedView { offset, strided, ..good.clone() }), 0, "{offset} {extent} {stride}");
        }
        let larger = SegmentHandle { bytes: 2 * BYTES, ..good.segment };
        assert_eq!(left(ExportedView { segment: larger, ..good.clone() }), 0);
        let words = description(&[good]);
        for bytes in (0..words.len()).step_by(size_of::<u64>()) {
            assert_eq!(mapped.read(&words[..bytes]).map_or(0, |reader| reader.left()), 0, "{bytes} bytes");
        }
        let mut words = words;
        let dims = FIXED_WORDS * size_of::<u64>();
        words[dims..][..size_of::<u64>()].copy_from_slice(&u64::MAX.to_ne_bytes());
        assert!(mapped.read(&words).is_err());
    }
}
