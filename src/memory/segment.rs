//! Memory that other processes of this host may read: a file without a name, mapped here by its owner and there by whoever is told of it.
//!
//! ```text
//! owner    Segment::new(4096)   id 7, file 12 of process 4711      a box of it: 7, 12, offset 512, extents, strides
//! peer     Mapping::of(4711, 12, 4096)                             the same bytes, read only
//! ```
//!
//! Invariants: while a segment lives, addresses inside it are known to the process ([`Segment::find`]). Its memory goes back to the
//! system when its owner drops it, whoever still maps it. There are at most [`MOST`] at a time, as each is an open file. Deliberately absent:
//! systems other than Linux, and writing by others.

use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

/// Segments of a process at a time.
const MOST: usize = 256;
/// Smaller memory is not worth a file.
const LEAST: usize = 64 << 10;
/// Larger memory has to have huge pages, which not all systems have for files.
const SMALL_PAGES: usize = 16 << 20;

/// By how many segments are wanted.
static WANTED: AtomicUsize = AtomicUsize::new(0);
static NEXT: AtomicU64 = AtomicU64::new(1);
/// By the address of their first byte.
static LIVE: Mutex<BTreeMap<usize, Known>> = Mutex::new(BTreeMap::new());

/// What a process knows of a segment of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// Never used again in this process.
    pub id: u64,
    /// The number of the open file in this process.
    pub file: i32,
    pub bytes: usize,
}

/// Somebody would map segments: as long as any of these lives, new large buffers of this process are segments, where they can be.
#[derive(Debug)]
pub struct WantedSegments(());

impl Default for WantedSegments {
    fn default() -> WantedSegments {
        WANTED.fetch_add(1, Ordering::Relaxed);
        WantedSegments(())
    }
}

impl Drop for WantedSegments {
    fn drop(&mut self) {
        WANTED.fetch_sub(1, Ordering::Relaxed);
    }
}

fn live() -> MutexGuard<'static, BTreeMap<usize, Known>> {
    // Both changes of the list are one call each.
    LIVE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Memory that others may read, zeroed and untouched.
#[derive(Debug)]
pub(super) struct Segment {
    start: NonNull<u8>,
    bytes: usize,
    // Closed last.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "there are no segments"))]
    file: system::File,
}

// SAFETY: the bytes are owned, as in a Box<[u8]>; peers only read them while a lease of the owner lasts.
unsafe impl Send for Segment {}
// SAFETY: as above; &self gives out the address and the size only.
unsafe impl Sync for Segment {}

impl Segment {
    /// `None` where nobody wants one, it is too small or too many, or the system refuses.
    pub(super) fn new(bytes: usize) -> Option<Segment> {
        let fits = bytes >= LEAST && (bytes <= SMALL_PAGES || system::has_huge_pages());
        if WANTED.load(Ordering::Relaxed) == 0 || !fits || live().len() >= MOST {
            return None;
        }
        let file = system::create(bytes)?;
        let start = system::map(&file, bytes, true)?;
        let known = Known { id: NEXT.fetch_add(1, Ordering::Relaxed), file: system::number(&file), bytes };
        live().insert(start.as_ptr() as usize, known);
        Some(Segment { start, bytes, file })
    }

    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The segment in which an address lies, and how far behind its start.
    pub(super) fn find(address: usize) -> Option<(Known, usize)> {
        let live = live();
        let (&start, &known) = live.range(..=address).next_back()?;
        (address - start < known.bytes).then_some((known, address - start))
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        live().remove(&(self.start.as_ptr() as usize));
        // SAFETY: mapped by `new` with as many bytes, and nobody has the address any more.
        unsafe { system::unmap(self.start, self.bytes) };
        system::empty(&self.file);
    }
}

/// A segment of another process, to read.
#[derive(Debug)]
pub struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

impl Mapping {
    /// Maps what is open in a process of this host under a number; `None` where the system refuses.
    pub fn of(process: u32, file: i32, bytes: usize) -> Option<Mapping> {
        let file = system::open(process, file)?;
        let start = system::map(&file, bytes, false)?;
        Some(Mapping { start, bytes })
    }

    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `of` with as many bytes; who reads out of it holds it.
        unsafe { system::unmap(self.start, self.bytes) };
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::os::fd::{AsRawFd, OwnedFd};
    use std::ptr::NonNull;
    use std::sync::OnceLock;

    use rustix::fs::{MemfdFlags, Mode, OFlags, ftruncate, memfd_create, open as open_file};
    use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};

    pub type File = OwnedFd;

    pub fn create(bytes: usize) -> Option<File> {
        let file = memfd_create("einsum-dist", MemfdFlags::CLOEXEC).ok()?;
        ftruncate(&file, bytes as u64).ok()?;
        Some(file)
    }

    pub fn open(process: u32, number: i32) -> Option<File> {
        open_file(format!("/proc/{process}/fd/{number}"), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()
    }

    pub fn number(file: &File) -> i32 {
        file.as_raw_fd()
    }

    pub fn map(file: &File, bytes: usize, write: bool) -> Option<NonNull<u8>> {
        let access = if write { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        // SAFETY: a new mapping, at an address of the system's choice, of a file that is as long or longer.
        let start = unsafe { mmap(std::ptr::null_mut(), bytes, access, MapFlags::SHARED, file, 0) }.ok()?;
        if has_huge_pages() {
            // SAFETY: the mapping is new and ours; this advice changes the size of pages and nothing in them.
            let _ = unsafe { madvise(start, bytes, Advice::LinuxHugepage) };
        }
        NonNull::new(start.cast())
    }

    /// # Safety
    /// A mapping of as many bytes that nobody uses.
    pub unsafe fn unmap(start: NonNull<u8>, bytes: usize) {
        // SAFETY: the caller's contract.
        let _ = unsafe { munmap(start.as_ptr().cast(), bytes) };
    }

    /// Gives the memory of a file back.
    pub fn empty(file: &File) {
        let _ = ftruncate(file, 0);
    }

    /// Whether files in memory have huge pages where they are asked for.
    pub fn has_huge_pages() -> bool {
        static HAS: OnceLock<bool> = OnceLock::new();
        *HAS.get_or_init(|| {
            let enabled = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
            enabled.is_ok_and(|text| {
                ["[always]", "[within_size]", "[advise]", "[force]"].iter().any(|on| text.contains(on))
            })
        })
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::ptr::NonNull;

    pub type File = std::convert::Infallible;

    pub fn create(_: usize) -> Option<File> {
        None
    }

    pub fn open(_: u32, _: i32) -> Option<File> {
        None
    }

    pub fn number(file: &File) -> i32 {
        match *file {}
    }

    pub fn map(file: &File, _: usize, _: bool) -> Option<NonNull<u8>> {
        match *file {}
    }

    /// # Safety
    /// There is nothing to unmap.
    pub unsafe fn unmap(_: NonNull<u8>, _: usize) {}

    pub fn empty(file: &File) {
        match *file {}
    }

    pub fn has_huge_pages() -> bool {
        false
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn others_read_what_the_owner_has_written() {
        let _wanted = WantedSegments::default();
        let segment = Segment::new(100_000).unwrap();
        let address = segment.start().as_ptr() as usize;
        let (known, offset) = Segment::find(address + 70).unwrap();
        assert_eq!((offset, known.bytes), (70, 100_000));
        assert!(Segment::find(address + 100_000).is_none_or(|(other, _)| other.id != known.id));
        let mapping = Mapping::of(std::process::id(), known.file, known.bytes).unwrap();
        // SAFETY: both mappings have as many bytes, and only this thread touches them.
        unsafe {
            assert_eq!(mapping.start().add(99_999).read(), 0);
            segment.start().add(99_999).write_volatile(7);
            assert_eq!(mapping.start().add(99_999).as_ptr().read_volatile(), 7);
        }
        assert_ne!(mapping.start(), segment.start());
        drop(segment);
        assert!(Segment::find(address).is_none_or(|(other, _)| other.id != known.id));
        assert!(Segment::new(LEAST - 1).is_none());
    }
}
