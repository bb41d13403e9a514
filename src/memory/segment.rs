//! Memory that other processes on this host can read: an anonymous in-memory file (memfd), which its owner maps for
//! writing, and any process with the [`SegmentHandle`] for reading (`docs/transports.md`).
//!
//! Invariants: For every address in a live segment of this process, [`Segment::find`] returns the segment. When the
//! owner drops a segment, its memory returns to the system even if others still map it. A process has at most
//! [`MAX_SEGMENTS`], because each is an open file.
//!
//! Segments exist on Linux only, and not where a first access could raise SIGBUS (under strict overcommit, or beyond
//! the machine's memory), or with `ulimit -v`, because peers keep dropped segments mapped. After a fork, the child must
//! not access a segment that the parent has dropped.

use std::collections::BTreeMap;
use std::io::{Error, Result};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};

const MAX_SEGMENTS: usize = 256;
/// Fewer do not justify a file.
const MIN_SEGMENT_BYTES: usize = 64 << 10;
/// Larger segments need huge pages to be fast.
const MAX_SMALL_PAGE_BYTES: usize = 16 << 20;

static WANTED: AtomicUsize = AtomicUsize::new(0);
static NEXT: AtomicU64 = AtomicU64::new(1);
/// By address.
static LIVE: Mutex<BTreeMap<usize, SegmentHandle>> = Mutex::new(BTreeMap::new());

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentHandle {
    /// A number that the owner's process never reuses.
    pub id: u64,
    /// The file descriptor in the owner's process.
    pub file: i32,
    pub bytes: usize,
    /// The file's device and inode.
    pub identity: [u64; 2],
}

/// While one exists, new large buffers are segments if possible.
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

#[derive(Debug, Clone, Copy)]
struct Limits {
    segments: usize,
    bytes: usize,
}

static LIMITS: OnceLock<Limits> = OnceLock::new();

pub fn machine_bytes() -> Option<usize> {
    system::machine_bytes()
}

fn live() -> MutexGuard<'static, BTreeMap<usize, SegmentHandle>> {
    // Each change is a single call, so a panic leaves the map consistent.
    LIVE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[derive(Debug)]
pub(super) struct Segment {
    start: NonNull<u8>,
    bytes: usize,
    process: u32,
    // Closed after `drop` has unmapped the memory.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "there are no segments"))]
    file: system::File,
}

// SAFETY: the bytes are owned, as in a Box<[u8]>. Peers only read them, and only while the owner holds a lease.
unsafe impl Send for Segment {}
// SAFETY: as above. Through `&self`, only the address and the size are accessible.
unsafe impl Sync for Segment {}

impl Segment {
    /// `None` if segments are not wanted, `bytes` is too small or large, there are too many, or the system refuses.
    pub(super) fn new(bytes: usize) -> Option<Segment> {
        let fits = bytes >= MIN_SEGMENT_BYTES && (bytes <= MAX_SMALL_PAGE_BYTES || system::has_huge_pages());
        if WANTED.load(Ordering::Relaxed) == 0 || !fits {
            return None;
        }
        let Limits { segments, bytes: most } = *LIMITS.get_or_init(system::limits);
        if bytes > most || live().len() >= segments.min(MAX_SEGMENTS) {
            return None;
        }
        let file = system::create(bytes).ok()?;
        let (_, identity) = system::size_and_identity(&file).ok()?;
        let start = system::map(&file, bytes, true).ok()?;
        let known =
            SegmentHandle { id: NEXT.fetch_add(1, Ordering::Relaxed), file: system::number(&file), bytes, identity };
        live().insert(start.as_ptr() as usize, known);
        Some(Segment { start, bytes, process: std::process::id(), file })
    }

    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn find(address: usize) -> Option<(SegmentHandle, usize)> {
        let live = live();
        let (&start, &known) = live.range(..=address).next_back()?;
        (address - start < known.bytes).then_some((known, address - start))
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        live().remove(&(self.start.as_ptr() as usize));
        // SAFETY: `new` mapped `bytes` bytes at `start`, and nothing uses the address any more.
        unsafe { system::unmap(self.start, self.bytes) };
        // A forked child must not truncate the file.
        if self.process == std::process::id() {
            system::empty(&self.file);
        }
    }
}

#[derive(Debug)]
pub struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

impl Mapping {
    /// Maps a segment of a process on this host. Its bytes may only be read while the owner leases them; otherwise
    /// they may change, or a read raises SIGBUS.
    ///
    /// # Errors
    /// If the system refuses, or if the file descriptor now refers to a different file.
    pub(crate) fn of(process: u32, segment: SegmentHandle) -> Result<Mapping> {
        let SegmentHandle { file, bytes, identity, .. } = segment;
        let file = system::open(process, file)?;
        let (size, there) = system::size_and_identity(&file)?;
        if size < bytes as u64 || there != identity {
            return Err(Error::other("another file has its number"));
        }
        let start = system::map(&file, bytes, false)?;
        Ok(Mapping { start, bytes })
    }

    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: `of` mapped `bytes` bytes at `start`, and every reader keeps the mapping alive.
        unsafe { system::unmap(self.start, self.bytes) };
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::io::{Error, Result};
    use std::os::fd::{AsRawFd, OwnedFd};
    use std::ptr::NonNull;
    use std::sync::OnceLock;

    use rustix::fs::{MemfdFlags, Mode, OFlags, fstat, ftruncate, memfd_create, open as open_file};
    use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};
    use rustix::process::{Resource, getrlimit};

    use super::Limits;

    pub type File = OwnedFd;

    pub fn create(bytes: usize) -> Result<File> {
        let file = memfd_create("einsum-dist", MemfdFlags::CLOEXEC)?;
        ftruncate(&file, bytes as u64)?;
        Ok(file)
    }

    pub fn open(process: u32, number: i32) -> Result<File> {
        let path = format!("/proc/{process}/fd/{number}");
        Ok(open_file(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)
    }

    pub fn number(file: &File) -> i32 {
        file.as_raw_fd()
    }

    pub fn size_and_identity(file: &File) -> Result<(u64, [u64; 2])> {
        let found = fstat(file)?;
        Ok((found.st_size.try_into().unwrap_or(0), [found.st_dev, found.st_ino]))
    }

    pub fn limits() -> Limits {
        let soft = |resource| getrlimit(resource).current.map_or(usize::MAX, |most| most as usize);
        // Even strict overcommit reserves no memory for these files.
        let counted = std::fs::read_to_string("/proc/sys/vm/overcommit_memory").is_ok_and(|text| text.trim() == "2");
        let few_addresses = getrlimit(Resource::As).current.is_some();
        let bytes =
            if counted || few_addresses { 0 } else { machine_bytes().unwrap_or(usize::MAX).min(soft(Resource::Fsize)) };
        Limits { segments: soft(Resource::Nofile) / 4, bytes }
    }

    pub fn machine_bytes() -> Option<usize> {
        let found = rustix::system::sysinfo();
        (found.totalram as usize).checked_mul(found.mem_unit as usize)
    }

    pub fn map(file: &File, bytes: usize, write: bool) -> Result<NonNull<u8>> {
        let access = if write { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        // SAFETY: a new mapping, at an address that the system chooses, of a file with at least `bytes` bytes.
        let start = unsafe { mmap(std::ptr::null_mut(), bytes, access, MapFlags::SHARED, file, 0) }?;
        if has_huge_pages() {
            // SAFETY: nothing else uses the new mapping yet. This advice changes the size of pages, not their contents.
            let _ = unsafe { madvise(start, bytes, Advice::LinuxHugepage) };
        }
        NonNull::new(start.cast()).ok_or_else(|| Error::other("mapped at 0"))
    }

    /// # Safety
    /// `start` is a mapping of `bytes` bytes that is not in use.
    pub unsafe fn unmap(start: NonNull<u8>, bytes: usize) {
        // SAFETY: the caller's contract.
        let _ = unsafe { munmap(start.as_ptr().cast(), bytes) };
    }

    pub fn empty(file: &File) {
        let _ = ftruncate(file, 0);
    }

    /// Whether the system backs in-memory files with huge pages on request.
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
    use std::io::{ErrorKind, Result};
    use std::ptr::NonNull;

    pub type File = std::convert::Infallible;

    pub fn create(_: usize) -> Result<File> {
        Err(ErrorKind::Unsupported.into())
    }

    pub fn open(_: u32, _: i32) -> Result<File> {
        Err(ErrorKind::Unsupported.into())
    }

    pub fn number(file: &File) -> i32 {
        match *file {}
    }

    pub fn size_and_identity(file: &File) -> Result<(u64, [u64; 2])> {
        match *file {}
    }

    pub fn limits() -> super::Limits {
        super::Limits { segments: 0, bytes: 0 }
    }

    pub fn machine_bytes() -> Option<usize> {
        None
    }

    pub fn map(file: &File, _: usize, _: bool) -> Result<NonNull<u8>> {
        match *file {}
    }

    /// # Safety
    /// None, because there are no mappings.
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
mod tests;
