//! Places a rank's own buffers in one block of memory, the arena. Buffers may share bytes if one's last use precedes
//! the other's first, counted in turns: consecutive tasks of one node.
//!
//! Invariants: every buffer starts at a multiple of [`ALIGNMENT`]. Buffers share bytes only if their contents are never
//! needed at the same time, so a node's operands and result share none. The first task to use an element waits for all
//! tasks that used its bytes as another buffer; these edges cannot deadlock, because transfers of different nodes never
//! need to be in flight together. The user's memory is outside.

use std::collections::{BTreeMap, BTreeSet};

use super::{BufferId, Lane, ReuseScope, Schedule, TaskId, View};

/// Size in bytes of a cache line and of the widest vector register.
pub const ALIGNMENT: usize = 64;

/// Maximum buffers also placed by size.
const MAX_BUFFERS_BY_SIZE: usize = 2_000;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Arrangement {
    /// In bytes; 0 for the user's buffers.
    pub offsets: Vec<usize>,
    pub bytes: usize,
}

pub fn lifetimes(schedule: &Schedule) -> Vec<Option<(TaskId, TaskId)>> {
    let mut lifetimes = vec![None; schedule.buffers.len()];
    for (id, task) in schedule.tasks.iter().enumerate() {
        for View { buffer, .. } in task.action.views() {
            let lifetime: &mut Option<(TaskId, TaskId)> = &mut lifetimes[*buffer];
            *lifetime = Some(lifetime.map_or((id, id), |(first, _)| (first, id)));
        }
    }
    lifetimes
}

fn turns(schedule: &Schedule) -> Vec<usize> {
    let mut turn = 0;
    let before = schedule.tasks.iter().zip(schedule.tasks.iter().skip(1));
    let next = before.map(|(task, next)| {
        turn += usize::from(task.node != next.node);
        turn
    });
    std::iter::once(0).chain(next).take(schedule.tasks.len()).collect()
}

/// `bytes` is a multiple of cache lines, and `lifetime` the first and last turn.
struct Allocation {
    buffer: BufferId,
    bytes: usize,
    lifetime: (usize, usize),
}

pub fn arrange(schedule: &Schedule) -> Arrangement {
    let (lifetimes, kept, turns) = (lifetimes(schedule), schedule.kept(), turns(schedule));
    let allocations: Vec<Allocation> = schedule
        .buffers
        .iter()
        .enumerate()
        .filter(|(_, buffer)| buffer.home.is_arena())
        .map(|(id, buffer)| Allocation {
            buffer: id,
            bytes: buffer.elements().saturating_mul(schedule.element).div_ceil(ALIGNMENT).saturating_mul(ALIGNMENT),
            lifetime: match lifetimes[id] {
                _ if kept[id] => (0, usize::MAX),
                Some((first, last)) => (turns[first], turns[last]),
                None => (0, 0),
            },
        })
        .collect();
    if schedule.sections.is_empty() {
        return grouped(allocations, &schedule.sharing());
    }
    // Branches may run at the same time, so each has one block.
    let mut nested: Vec<(usize, Arrangement, Vec<BufferId>)> = Vec::new();
    let mut outer: Vec<Allocation> = Vec::new();
    let mut inner: BTreeMap<(usize, usize), Vec<Allocation>> = BTreeMap::new();
    for mut allocation in allocations {
        let section =
            lifetimes[allocation.buffer].and_then(|(first, last)| Some((schedule.section(first)?, first, last)));
        match section {
            Some((section, first, last)) if !kept[allocation.buffer] => {
                if schedule.section(last) == Some(section) && schedule.branch(first) == schedule.branch(last) {
                    inner.entry((section, schedule.branch(first))).or_default().push(allocation);
                } else {
                    // Other branches may run meanwhile, so its lifetime starts with the section.
                    allocation.lifetime.0 = turns[schedule.sections[section].tasks().start];
                    outer.push(allocation);
                }
            }
            _ => outer.push(allocation),
        }
    }
    for ((section, _), allocations) in inner {
        let tasks = schedule.sections[section].tasks();
        let lifetime = (turns[tasks.start], turns[tasks.end - 1]);
        let buffers = allocations.iter().map(|allocation| allocation.buffer).collect();
        let arrangement = place(allocations, schedule.buffers.len());
        // A virtual buffer, numbered after the real ones, is the branch's block.
        let buffer = schedule.buffers.len() + nested.len();
        outer.push(Allocation { buffer, bytes: arrangement.bytes, lifetime });
        nested.push((buffer, arrangement, buffers));
    }
    let mut whole = place(outer, schedule.buffers.len() + nested.len());
    for (at, arrangement, buffers) in nested {
        for buffer in buffers {
            whole.offsets[buffer] = whole.offsets[at].saturating_add(arrangement.offsets[buffer]);
        }
    }
    whole.offsets.truncate(schedule.buffers.len());
    whole
}

/// Places the groups one after the other; only a group may share memory.
fn grouped(allocations: Vec<Allocation>, groups: &[ReuseScope]) -> Arrangement {
    let mut whole = Arrangement { offsets: vec![0; groups.len()], bytes: 0 };
    let mut by_group: BTreeMap<ReuseScope, Vec<Allocation>> = BTreeMap::new();
    allocations
        .into_iter()
        .for_each(|allocation| by_group.entry(groups[allocation.buffer]).or_default().push(allocation));
    for allocations in by_group.into_values() {
        let buffers: Vec<BufferId> = allocations.iter().map(|allocation| allocation.buffer).collect();
        let group = place(allocations, groups.len());
        buffers.into_iter().for_each(|id| whole.offsets[id] = whole.bytes.saturating_add(group.offsets[id]));
        whole.bytes = whole.bytes.saturating_add(group.bytes);
    }
    whole
}

/// The smaller of the arrangements in order of first use and of size; only the first, which is quicker, above
/// `MAX_BUFFERS_BY_SIZE` buffers.
fn place(allocations: Vec<Allocation>, buffers: usize) -> Arrangement {
    let in_order = in_order(&allocations, buffers);
    if allocations.len() > MAX_BUFFERS_BY_SIZE {
        return in_order;
    }
    let by_size = by_size(allocations, buffers);
    if by_size.bytes < in_order.bytes { by_size } else { in_order }
}

/// Places buffers, largest first, at the lowest offset that is free throughout their lifetimes.
fn by_size(mut allocations: Vec<Allocation>, buffers: usize) -> Arrangement {
    allocations.sort_by_key(|allocation| (std::cmp::Reverse(allocation.bytes), allocation.buffer));
    let mut arrangement = Arrangement { offsets: vec![0; buffers], bytes: 0 };
    let mut lifetimes = Lifetimes::default();
    for allocation in &allocations {
        let mut taken: Vec<(usize, usize)> = lifetimes
            .overlapping(allocation.lifetime)
            .map(|(buffer, bytes)| (arrangement.offsets[buffer], arrangement.offsets[buffer].saturating_add(bytes)))
            .collect();
        taken.sort_unstable();
        let mut place = 0usize;
        for (start, end) in taken {
            if place.saturating_add(allocation.bytes) <= start {
                break;
            }
            place = place.max(end);
        }
        arrangement.offsets[allocation.buffer] = place;
        arrangement.bytes = arrangement.bytes.max(place.saturating_add(allocation.bytes));
        lifetimes.insert(allocation);
    }
    arrangement
}

/// Grouped by the binary logarithm of their length and sorted by start.
#[derive(Default)]
struct Lifetimes(Vec<BTreeMap<usize, Vec<Lifetime>>>);

/// The last turn, the buffer, and its bytes.
type Lifetime = (usize, BufferId, usize);

impl Lifetimes {
    fn insert(&mut self, &Allocation { buffer, bytes, lifetime: (start, end) }: &Allocation) {
        let class = (end - start).max(1).ilog2() as usize;
        if self.0.len() <= class {
            self.0.resize_with(class + 1, BTreeMap::new);
        }
        self.0[class].entry(start).or_default().push((end, buffer, bytes));
    }

    fn overlapping(&self, lifetime: (usize, usize)) -> impl Iterator<Item = (BufferId, usize)> + '_ {
        let lifetimes = self.candidates(lifetime).filter(move |&&(end, ..)| end >= lifetime.0);
        lifetimes.map(|&(_, buffer, bytes)| (buffer, bytes))
    }

    /// A superset of the overlapping lifetimes, without those that start after `end`, or so early that even their
    /// group's longest would end before `start`.
    fn candidates(&self, (start, end): (usize, usize)) -> impl Iterator<Item = &Lifetime> + '_ {
        self.0.iter().enumerate().flat_map(move |(class, lifetimes)| {
            let longest = usize::MAX >> (usize::BITS as usize - 1 - class);
            lifetimes.range(start.saturating_sub(longest)..=end).flat_map(|(_, lifetimes)| lifetimes)
        })
    }
}

/// Places buffers in order of first use, each in the smallest sufficient gap.
fn in_order(allocations: &[Allocation], buffers: usize) -> Arrangement {
    let mut arrivals: Vec<&Allocation> = allocations.iter().collect();
    arrivals.sort_by_key(|allocation| (allocation.lifetime.0, allocation.buffer));
    let mut departures: Vec<&Allocation> = arrivals.clone();
    departures.sort_by_key(|allocation| allocation.lifetime.1);
    let mut gone = departures.into_iter().peekable();
    let mut gaps = Gaps::default();
    let mut arrangement = Arrangement { offsets: vec![0; buffers], bytes: 0 };
    for allocation in arrivals {
        while let Some(left) = gone.next_if(|other| other.lifetime.1 < allocation.lifetime.0) {
            gaps.free(arrangement.offsets[left.buffer], left.bytes);
        }
        let place = gaps.take(allocation.bytes).unwrap_or_else(|| {
            let start = gaps.take_last(arrangement.bytes).unwrap_or(arrangement.bytes);
            arrangement.bytes = start.saturating_add(allocation.bytes);
            start
        });
        arrangement.offsets[allocation.buffer] = place;
    }
    arrangement
}

/// Invariant: no gaps are adjacent, and `starts` and `sizes` have the same gaps.
#[derive(Default)]
struct Gaps {
    starts: BTreeMap<usize, usize>,
    sizes: BTreeSet<(usize, usize)>,
}

impl Gaps {
    fn insert(&mut self, start: usize, bytes: usize) {
        self.starts.insert(start, bytes);
        self.sizes.insert((bytes, start));
    }

    fn remove(&mut self, start: usize) -> Option<usize> {
        let bytes = self.starts.remove(&start)?;
        self.sizes.remove(&(bytes, start));
        Some(bytes)
    }

    fn take(&mut self, bytes: usize) -> Option<usize> {
        let &(found, start) = self.sizes.range((bytes, 0)..).next()?;
        self.remove(start);
        if found > bytes {
            self.insert(start + bytes, found - bytes);
        }
        Some(start)
    }

    /// Removes the gap at the end of the arena for a larger buffer.
    fn take_last(&mut self, end: usize) -> Option<usize> {
        let (&start, _) = self.starts.last_key_value().filter(|&(start, bytes)| start + bytes == end)?;
        self.remove(start);
        Some(start)
    }

    fn free(&mut self, mut start: usize, mut bytes: usize) {
        if bytes == 0 {
            return;
        }
        if let Some((&before, &length)) = self.starts.range(..start).next_back()
            && before + length == start
        {
            self.remove(before);
            (start, bytes) = (before, bytes + length);
        }
        if let Some(length) = self.remove(start + bytes) {
            bytes += length;
        }
        self.insert(start, bytes);
    }
}

/// Which buffer occupied each byte of the arena last.
#[derive(Debug, Default)]
pub struct Occupants(BTreeMap<usize, (usize, BufferId)>);

impl Occupants {
    /// Records the new occupant, and returns the previous ones, once per range.
    pub fn replace(&mut self, buffer: BufferId, start: usize, bytes: usize) -> Vec<BufferId> {
        let end = start + bytes;
        if bytes == 0 {
            return Vec::new();
        }
        let from = match self.0.range(..start).next_back() {
            Some((&before, &(until, _))) if until > start => before,
            _ => start,
        };
        let met: Vec<(usize, usize, BufferId)> =
            self.0.range(from..end).map(|(&start, &(end, buffer))| (start, end, buffer)).collect();
        for &(old_start, old_end, old) in &met {
            self.0.remove(&old_start);
            if old_start < start {
                self.0.insert(old_start, (start, old));
            }
            if old_end > end {
                self.0.insert(end, (old_end, old));
            }
        }
        self.0.insert(start, (end, buffer));
        met.into_iter().map(|(_, _, buffer)| buffer).collect()
    }
}

/// Adds edges, so that no task uses a buffer before the previous ones in its bytes are done. `fresh` lists, in order,
/// tasks that first use some element of a buffer.
pub fn order(schedule: &mut Schedule, arrangement: &Arrangement, fresh: &[(TaskId, BufferId)]) {
    let lifetimes = lifetimes(schedule);
    let mut last: Vec<[Option<TaskId>; 3]> = vec![[None; 3]; schedule.buffers.len()];
    for (id, task) in schedule.tasks.iter().enumerate() {
        task.action.views().for_each(|view| last[view.buffer][task.action.lane() as usize] = Some(id));
    }
    let mut occupants = Occupants::default();
    // For each buffer and lane, the last task that used its bytes as another buffer; lanes complete in order.
    let mut waits: Vec<[Option<TaskId>; 3]> = vec![[None; 3]; schedule.buffers.len()];
    for &(task, buffer) in fresh {
        if !schedule.buffers[buffer].home.is_arena() {
            continue;
        }
        if lifetimes[buffer].is_some_and(|(first, _)| first == task) {
            let bytes = schedule.buffers[buffer].elements() * schedule.element;
            for before in occupants.replace(buffer, arrangement.offsets[buffer], bytes) {
                for lane in 0..3 {
                    waits[buffer][lane] = waits[buffer][lane].max(last[before][lane].filter(|_| before != buffer));
                }
            }
        }
        let lane = schedule.tasks[task].action.lane();
        let after = &mut schedule.tasks[task].after;
        for (other, wait) in waits[buffer].into_iter().enumerate() {
            let implied = lane == Lane::Work && other == Lane::Work as usize;
            after.extend(wait.filter(|&wait| !implied && wait < task));
        }
        after.sort_unstable();
        after.dedup();
        after.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests;
