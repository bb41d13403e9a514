//! Unit tests of `segment`.

use super::*;

#[test]
fn others_read_what_the_owner_has_written() {
    let _wanted = WantedSegments::default();
    let segment = Segment::new(100_000).unwrap();
    let address = segment.start().as_ptr() as usize;
    let (known, offset) = Segment::find(address + 70).unwrap();
    assert_eq!((offset, known.bytes), (70, 100_000));
    assert!(Segment::find(address + 100_000).is_none_or(|(other, _)| other.id != known.id));
    let mapping = Mapping::of(std::process::id(), known).unwrap();
    // SAFETY: both mappings have at least 100,000 bytes, and only this thread accesses them.
    unsafe {
        assert_eq!(mapping.start().add(99_999).read(), 0);
        segment.start().add(99_999).write_volatile(7);
        assert_eq!(mapping.start().add(99_999).as_ptr().read_volatile(), 7);
    }
    assert_ne!(mapping.start(), segment.start());
    drop(segment);
    assert!(Segment::find(address).is_none_or(|(other, _)| other.id != known.id));
    assert!(Segment::new(MIN_SEGMENT_BYTES - 1).is_none());
    assert!(Segment::new(usize::MAX / 2).is_none());
}

#[test]
fn another_file_under_the_number_is_not_mapped() {
    let _wanted = WantedSegments::default();
    let segment = Segment::new(100_000).unwrap();
    let (known, _) = Segment::find(segment.start().as_ptr() as usize).unwrap();
    let of = |known| Mapping::of(std::process::id(), known);
    assert!(of(known).is_ok());
    assert!(of(SegmentHandle { bytes: 100_001, ..known }).is_err());
    assert!(of(SegmentHandle { identity: [known.identity[0], known.identity[1] + 1], ..known }).is_err());
}

#[test]
fn there_are_none_where_addresses_are_limited() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    // Read the limits first. They are cached, so the limit that is set below does not affect other tests.
    LIMITS.get_or_init(system::limits);
    let before = getrlimit(Resource::As);
    let limited = Rlimit { current: Some(before.current.unwrap_or(1 << 60)), ..before };
    setrlimit(Resource::As, limited).unwrap();
    let found = system::limits();
    setrlimit(Resource::As, before).unwrap();
    assert_eq!(found.bytes, 0);
}

#[test]
fn a_forked_process_takes_nothing_from_its_parent() {
    let _wanted = WantedSegments::default();
    let mut segment = Segment::new(100_000).unwrap();
    let (known, _) = Segment::find(segment.start().as_ptr() as usize).unwrap();
    let mapping = Mapping::of(std::process::id(), known).unwrap();
    // SAFETY: both mappings have at least 100,000 bytes, and only this thread accesses them.
    unsafe { segment.start().write(7) };
    segment.process += 1;
    drop(segment);
    // SAFETY: as above.
    assert_eq!(unsafe { mapping.start().read() }, 7);
}
