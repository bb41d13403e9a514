//! Tests transfers, agreement and failures between MPI ranks.
//!
//! The program must run under mpirun. An argument names the scenario:
//!
//! ```text
//! mpirun -n 4 mpi transport              all tests that succeed, by messages; exit code 0
//! mpirun -n 4 mpi transport all shared   the same by another route: shared, rma, or mixed (two ranks per node)
//! mpirun -n 4 mpi transport probe        prints the fastest routes of this machine
//! mpirun -n 2 mpi transport short ROUTE  a message is too short: rank 1 prints an error and aborts, exit code 3
//!                           long, more, fewer      likewise: too long, too many pieces, too few pieces
//! mpirun -n 4 mpi transport abort        rank 1 aborts with exit code 3 while the other ranks wait
//! mpirun -n 4 mpi transport panic        rank 1 panics; the launcher ends the other ranks
//! mpirun -n 4 mpi transport late         rank 1 does not close its endpoint; the other ranks abort, exit code 1
//! mpirun -n 4 mpi transport foreign      the program itself initialises and finalises MPI
//! mpirun -n 2 mpi transport huge ROUTE   2.2 billion elements, then 8 GB in two boxes (5.4 GB by message), to the
//!                                        other rank and back; needs 9 GB of memory per rank
//! mpirun -n 2 mpi transport bandwidth ROUTE [KIB]   blocks in one and in both directions, compared with a plain copy
//! ```
//!
//! If `tests/pmpi/count.c` is preloaded and `PMPI_COUNT_FILE` is set, the first scenario also compares the number of
//! bytes that the endpoints report with the number that `count.c` counts between the program and MPI.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use einsum_dist::comm::launcher::launcher;
use einsum_dist::comm::mpi::{Communicator, Endpoint as MpiEndpoint, EndpointOptions, Mpi, Reduce, Route, Routes};
use einsum_dist::comm::{CommError, Completion, Endpoint};
use einsum_dist::kernel::Element;
use einsum_dist::memory::{Aligned, Footprint, ReadLease, Slot, Store, WriteLease};
use mpi::traits::{AsRaw, Communicator as _};

/// Numbers of bytes and messages that the endpoints of one rank report.
#[derive(Debug, Default, PartialEq, Eq)]
struct Moved {
    sent: u64,
    received: u64,
    messages: u64,
}

pub fn main() {
    if launcher().is_none() {
        println!("not under mpirun, skipped");
        return;
    }
    let scenario = std::env::args().nth(2).unwrap_or_default();
    if scenario == "foreign" {
        return foreign();
    }
    let mpi = Mpi::init().unwrap_or_else(|error| {
        eprintln!("{error}");
        std::process::exit(2)
    });
    let world = Communicator::world(&mpi).unwrap();
    let mut moved = Moved::default();
    match scenario.as_str() {
        "probe" => probe(&world),
        "short" | "long" | "more" | "fewer" => mismatch(&world, &scenario),
        "abort" => abort(&world),
        "late" => late(&world),
        "panic" => panic_alone(&world),
        "huge" => huge(&world),
        "bandwidth" => bandwidth(&world),
        _ => {
            agreement(&world);
            transfers::<f32>(&world, &mut moved);
            transfers::<f64>(&world, &mut moved);
            in_flight(&world, &mut moved);
            repeated(&world, &mut moved);
            dropped_alone(&world);
            dropped_in_flight(&world);
        }
    }
    let (rank, ranks) = (world.rank(), world.size());
    drop(world);
    mpi.finalise().unwrap();
    if let Ok(file) = std::env::var("PMPI_COUNT_FILE") {
        compare(&file, rank, &moved);
    }
    if rank == 0 {
        println!("{ranks} ranks: ok");
    }
}

/// A buffer of one rank. The value of each element depends on the rank and on the element's position.
fn store<T: Element + From<u16>>(rank: usize, extents: &[usize]) -> Arc<Store> {
    let elements: usize = extents.iter().product();
    let memory = Aligned::zeroed(elements * T::DTYPE.size(), &Arc::default()).unwrap();
    let store = Store::open(vec![Some(Slot::owned(Arc::new(memory), 0, T::DTYPE, extents))]);
    let everything: Vec<_> = extents.iter().map(|&extent| 0..extent).collect();
    let mut lease = store.write(0, &everything).unwrap();
    for (at, element) in lease.view_mut::<T>().iter_mut().enumerate() {
        *element = T::from(((rank * 7919 + at * 31) % 65521) as u16);
    }
    drop(lease);
    store
}

type Boxes = Vec<Vec<Range<usize>>>;

fn read(store: &Arc<Store>, boxes: &Boxes) -> Vec<ReadLease> {
    boxes.iter().map(|bounds| store.read(0, bounds).unwrap()).collect()
}

fn write(store: &Arc<Store>, boxes: &Boxes) -> Vec<WriteLease> {
    boxes.iter().map(|bounds| store.write(0, bounds).unwrap()).collect()
}

fn values<T: Element>(store: &Arc<Store>, boxes: &Boxes) -> Vec<T> {
    read(store, boxes).iter().flat_map(|lease| lease.view::<T>().iter().copied().collect::<Vec<_>>()).collect()
}

/// Polls until `count` transfers are complete.
fn finish(end: &mut Endpoint, count: usize) -> Result<Vec<Completion>, CommError> {
    let (start, mut done) = (Instant::now(), Vec::new());
    while done.len() < count {
        end.poll(&mut done)?;
        if done.len() < count {
            end.idle(true, false, Duration::from_millis(10));
        }
        assert!(start.elapsed() < Duration::from_secs(20), "transfers hang");
    }
    Ok(done)
}

/// The routes that the second argument names, and whether each node has only two ranks.
fn routes() -> (Routes, bool) {
    match std::env::args().nth(3).unwrap_or_default().as_str() {
        "" | "message" => (Routes::of(Route::Message), false),
        "shared" => (Routes::of(Route::Shared), false),
        "rma" => (Routes::of(Route::Rma), false),
        "mixed" => (Routes::of(Route::Shared), true),
        other => panic!("no route {other}"),
    }
}

fn endpoint_of(world: &Communicator, footprint: &Arc<Footprint>, spin: bool, chunk: usize) -> Endpoint {
    let (routes, pairs) = routes();
    let options = EndpointOptions { chunk, spin, color: pairs.then_some(world.rank() / 2) };
    Endpoint::Mpi(Box::new(MpiEndpoint::with(world, routes, footprint.clone(), &options).unwrap()))
}

fn endpoint(world: &Communicator, spin: bool, chunk: usize) -> Endpoint {
    endpoint_of(world, &Arc::default(), spin, chunk)
}

fn probe(world: &Communicator) {
    let start = Instant::now();
    let found = Routes::probe(world).unwrap();
    if world.rank() == 0 {
        println!("{found:?} in {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    }
}

/// Runs one step of a ring, in which every rank sends to the right, receives from the left, and checks the received
/// values.
fn turn<T>(world: &Communicator, end: &mut Endpoint, chunk: usize, from: &Boxes, into: &Boxes, moved: &mut Moved)
where
    T: Element + From<u16> + PartialEq,
{
    let (rank, ranks) = (world.rank(), world.size());
    let (left, right) = ((rank + ranks - 1) % ranks, (rank + 1) % ranks);
    let extents = [24, 20, 18];
    let (mine, target) = (store::<T>(rank, &extents), store::<T>(ranks, &extents));
    end.recv(1, left, write(&target, into)).unwrap();
    end.send(2, right, read(&mine, from)).unwrap();
    let mut done = finish(end, 2).unwrap();
    let bytes = (values::<T>(&mine, from).len() * T::DTYPE.size()) as u64;
    done.sort_by_key(|completion| completion.ticket);
    assert_eq!(done, [Completion { ticket: 1, bytes }, Completion { ticket: 2, bytes }]);
    assert!(values::<T>(&target, into) == values::<T>(&store::<T>(left, &extents), from), "other bytes arrived");
    mine.close();
    target.close();
    moved.sent += bytes;
    moved.received += bytes;
    moved.messages += bytes.div_ceil(chunk as u64).max(1);
}

/// Runs one step of the ring for every listed pair of boxes and for several maximum sizes of a piece. Pieces of 1 and 7
/// bytes are tested only with a box of one element and an empty box.
fn transfers<T: Element + From<u16> + PartialEq>(world: &Communicator, moved: &mut Moved) {
    let whole: Boxes = vec![vec![0..24, 0..20, 0..18]];
    let dense: Boxes = vec![vec![3..11, 0..20, 0..18]];
    let strided: Boxes = vec![vec![5..13, 0..20, 0..9], vec![14..22, 0..20, 9..18]];
    let columns: Boxes = vec![vec![0..24, 0..20, 4..10]];
    let parts: Boxes = vec![vec![0..1, 0..20, 0..18], vec![2..9, 0..20, 0..18]];
    let one: Boxes = vec![vec![7..8, 3..4, 5..6]];
    let none: Boxes = vec![vec![7..7, 3..4, 5..6]];
    for chunk in [1, 7, 500, 4096, 1 << 30] {
        let mut end = endpoint(world, chunk == 4096, chunk);
        let mut pairs = vec![(&one, &one), (&none, &none)];
        if chunk > 7 {
            pairs.extend([(&dense, &strided), (&strided, &dense), (&columns, &columns), (&columns, &dense)]);
            pairs.extend([(&parts, &dense), (&dense, &parts), (&strided, &parts), (&whole, &whole)]);
        }
        for (from, into) in pairs {
            // The columns have 24 * 20 * 6 elements, which is the size of 8 planes of 20 * 18 elements.
            turn::<T>(world, &mut end, chunk, from, into, moved);
        }
        end.close().unwrap();
    }
}

/// Tests many concurrent transfers. Every rank sends hundreds of boxes, some of them large, to every rank. All
/// transfers are posted before the first wait.
fn in_flight(world: &Communicator, moved: &mut Moved) {
    const BOXES: usize = 100;
    let (rank, ranks) = (world.rank(), world.size());
    let chunk = 50_000;
    let mut end = endpoint(world, false, chunk);
    let length = |at: usize| 1 + at * at * 10;
    let longest = length(BOXES - 1);
    let mine = store::<f64>(rank, &[longest]);
    let targets: Vec<_> = (0..ranks * BOXES).map(|at| store::<f64>(ranks, &[length(at % BOXES)])).collect();
    for at in 0..BOXES {
        for peer in 0..ranks {
            let target = &targets[peer * BOXES + at];
            end.recv(peer * BOXES + at, peer, write(target, &vec![vec![0..length(at)]])).unwrap();
            end.send(ranks * BOXES, peer, read(&mine, &vec![vec![0..length(at)]])).unwrap();
            let bytes = 8 * length(at) as u64;
            moved.sent += bytes;
            moved.received += bytes;
            moved.messages += bytes.div_ceil(chunk as u64);
        }
    }
    let done = finish(&mut end, 2 * ranks * BOXES).unwrap();
    for completion in done.iter().filter(|completion| completion.ticket < ranks * BOXES) {
        assert_eq!(completion.bytes, 8 * length(completion.ticket % BOXES) as u64);
    }
    for (peer, targets) in targets.chunks(BOXES).enumerate() {
        let theirs = values::<f64>(&store::<f64>(peer, &[longest]), &vec![vec![0..longest]]);
        for (at, target) in targets.iter().enumerate() {
            assert!(values::<f64>(target, &vec![vec![0..length(at)]]) == theirs[..length(at)]);
        }
    }
    if routes().0.near != Route::Rma {
        assert_eq!(end.packing_bytes(), 0, "dense boxes are not copied");
    }
    end.close().unwrap();
}

/// Tests that repeated runs allocate their buffers only once, and that tags may repeat.
fn repeated(world: &Communicator, moved: &mut Moved) {
    let footprint = Arc::new(Footprint::default());
    let mut end = endpoint_of(world, &footprint, false, 1 << 30);
    let columns: Boxes = vec![vec![0..24, 0..20, 4..10]];
    let mut after_first = None;
    for _ in 0..5 {
        turn::<f32>(world, &mut end, 1 << 30, &columns, &columns, moved);
        assert_eq!(*after_first.get_or_insert(footprint.peak()), footprint.peak());
    }
    assert!(routes().0.near == Route::Shared || footprint.peak() > 0);
    assert_eq!(footprint.peak(), end.packing_bytes());
    let (rank, ranks) = (world.rank(), world.size());
    let (left, right) = ((rank + ranks - 1) % ranks, (rank + 1) % ranks);
    let (mine, target) = (store::<f32>(rank, &[100]), store::<f32>(ranks, &[100]));
    for _ in 0..200 {
        for at in 0..100 {
            let element = vec![vec![at..at + 1]];
            end.recv(0, left, write(&target, &element)).unwrap();
            end.send(0, right, read(&mine, &element)).unwrap();
        }
        finish(&mut end, 200).unwrap();
    }
    let all = vec![vec![0..100]];
    assert!(values::<f32>(&target, &all) == values::<f32>(&store::<f32>(left, &[100]), &all));
    end.close().unwrap();
    *moved = Moved { sent: moved.sent + 80_000, received: moved.received + 80_000, messages: moved.messages + 20_000 };
}

/// Tests that a rank that drops its endpoint early does not block, and does not block other ranks. `rma` is skipped,
/// because MPICH would not finalise properly afterwards.
fn dropped_alone(world: &Communicator) {
    if routes().0.near == Route::Rma {
        return;
    }
    let end = endpoint(world, false, 1 << 30);
    if world.rank() == 0 {
        drop(end);
        world.barrier().unwrap();
    } else {
        world.barrier().unwrap();
        drop(end);
    }
}

/// Tests that endpoints can be dropped with transfers that no peer answers. The memory of these transfers is kept, and
/// MPI can be finalised. `rma` is skipped for the same reason as in [`dropped_alone`].
fn dropped_in_flight(world: &Communicator) {
    if routes().0.near == Route::Rma {
        return;
    }
    let (rank, ranks) = (world.rank(), world.size());
    let mut end = endpoint(world, false, 1 << 30);
    let target = store::<f32>(rank, &[100]);
    end.recv(0, (rank + 1) % ranks, write(&target, &vec![vec![0..100]])).unwrap();
    end.poll(&mut Vec::new()).unwrap();
    end.close().unwrap();
}

/// Tests that the other ranks give up if rank 1 reaches the collective close of its endpoint too late.
fn late(world: &Communicator) {
    let end = endpoint(world, false, 1 << 30);
    world.give_up_after(Some(Duration::from_millis(300)));
    world.before_abort(|| eprintln!("this comes first"));
    if world.rank() == 1 {
        std::thread::sleep(Duration::from_secs(30));
    }
    end.close().unwrap();
}

fn agreement(world: &Communicator) {
    let (rank, ranks) = (world.rank(), world.size());
    world.barrier().unwrap();
    assert_eq!(world.agree(Ok::<_, String>(rank)).unwrap(), Ok(rank));
    let last = ranks - 1;
    let mine = if rank == last { Err("no such file".to_owned()) } else { Ok(()) };
    let failures = world.agree(mine).unwrap().unwrap_err();
    assert_eq!(failures.len(), 1);
    assert_eq!((failures[0].rank, failures[0].message.as_str()), (last, "no such file"));
    assert_eq!(world.agree(Err::<(), _>(String::new())).unwrap().unwrap_err().len(), ranks);

    let bytes = |rank: usize| vec![rank as u8; rank * rank * 1000];
    assert_eq!(world.all_gather_bytes(&bytes(rank)).unwrap(), (0..ranks).map(bytes).collect::<Vec<_>>());
    for root in 0..ranks {
        let given = bytes(root + 1);
        assert_eq!(world.broadcast_bytes(root, (rank == root).then_some(&given)).unwrap(), given);
    }
    assert_eq!(world.broadcast_bytes(0, Some(&[])).unwrap(), Vec::<u8>::new());
    // Up to 128 bytes of each rank travel in one reduction.
    for length in [0, 1, 7, 8, 127, 128, 129] {
        for uneven in [0, 1] {
            let bytes = |rank: usize| vec![!(rank as u8); length - uneven.min(length) * usize::from(rank != 0)];
            assert_eq!(world.all_gather_bytes(&bytes(rank)).unwrap(), (0..ranks).map(bytes).collect::<Vec<_>>());
        }
    }
    let sums = world.all_reduce(Reduce::Sum, &[1.0, rank as f64]).unwrap();
    assert_eq!(sums, [ranks as f64, (ranks * last) as f64 / 2.0]);
    assert_eq!(world.all_reduce(Reduce::Max, &[rank as u64, 7]).unwrap(), [last as u64, 7]);

    // Rank 0 arrives late. The other ranks must wait without occupying a core.
    std::thread::sleep(Duration::from_millis(if rank == 0 { 100 } else { 0 }));
    world.barrier().unwrap();
}

/// Tests that a transfer fails if rank 0 sends more or fewer elements than rank 1 expects.
fn mismatch(world: &Communicator, scenario: &str) {
    let mut end = endpoint(world, false, 1 << 20);
    let elements = 1usize << 20;
    let (sent, expected) = match scenario {
        "short" => (10, 20),
        "long" => (20, 10),
        "more" => (elements, elements / 2),
        _ => (elements / 2, elements),
    };
    let mine = store::<f64>(world.rank(), &[elements]);
    if world.rank() == 1 {
        end.recv(0, 0, write(&mine, &vec![vec![0..expected]])).unwrap();
        let error = finish(&mut end, 1).unwrap_err();
        assert!(matches!(error, CommError::Size { .. } | CommError::Longer { .. }), "{error}");
        world.abort(3, &format!("found: {error}"));
    }
    end.send(0, 1, read(&mine, &vec![vec![0..sent]])).unwrap();
    // `finish` never returns, because rank 1 aborts.
    finish(&mut end, 2).unwrap();
}

fn abort(world: &Communicator) {
    let mut end = endpoint(world, false, 1 << 20);
    let mine = store::<f64>(world.rank(), &[10]);
    if world.rank() == 1 {
        std::thread::sleep(Duration::from_millis(300));
        world.abort(3, "out of memory");
    }
    end.recv(0, 1, write(&mine, &vec![vec![0..10]])).unwrap();
    finish(&mut end, 1).unwrap();
}

fn panic_alone(world: &Communicator) {
    let mut end = endpoint(world, false, 1 << 20);
    let mine = store::<f64>(world.rank(), &[10]);
    end.recv(0, 1, write(&mine, &vec![vec![0..10]])).unwrap();
    assert!(world.rank() != 1, "a bug on one rank");
    finish(&mut end, 1).unwrap();
}

/// Tests a program that initialises and finalises MPI itself. The error handler of the program's communicator must
/// remain unchanged.
fn foreign() {
    let (universe, _) = mpi::initialize_with_threading(mpi::Threading::Funneled).unwrap();
    let user = universe.world().split_by_color(mpi::topology::Color::with_value(0)).unwrap();
    let handler = || {
        let mut handler = unsafe { mpi::ffi::RSMPI_ERRORS_RETURN };
        unsafe { mpi::ffi::MPI_Comm_get_errhandler(user.as_raw(), &mut handler) };
        handler
    };
    let before = handler();
    assert!(before == unsafe { mpi::ffi::RSMPI_ERRORS_ARE_FATAL });
    let session = Mpi::init().unwrap();
    let elsewhere = std::thread::spawn(|| Mpi::init().map(|_| ()).unwrap_err().to_string());
    println!("{}", elsewhere.join().unwrap());
    let ours = Communicator::of(&session, &user).unwrap();
    assert_eq!((ours.rank(), ours.size()), (user.rank() as usize, user.size() as usize));
    agreement(&ours);
    transfers::<f32>(&ours, &mut Moved::default());
    assert!(before == handler());
    drop(ours);
    session.finalise().unwrap();
    assert!(!mpi::environment::is_finalized());
    println!("rank {}: ok", user.rank());
}

/// Transfers very large blocks from rank 0 to rank 1 and back. The first block has 2.2 billion elements. The second
/// block has 8 GB (5.4 GB if sent by message) and is sent as two boxes.
fn huge(world: &Communicator) {
    huge_of::<f32>(world, &[1, 2_200_000_000]);
    match routes().0.near {
        // Boxes of 3.6 and 1.8 GB. Both ranks also pack the boxes, which needs the same amount of memory again.
        Route::Message => huge_of::<f64>(world, &[3, (5 << 27) / 3 + 1]),
        // Boxes of 5.4 and 2.7 GB.
        Route::Shared | Route::Rma => huge_of::<f64>(world, &[3, 5 << 26]),
    }
}

fn huge_of<T: Element + From<u16> + PartialEq>(world: &Communicator, extents: &[usize; 2]) {
    let [rows, columns] = *extents;
    let bytes = rows * columns * size_of::<T>();
    let memory = Arc::new(Aligned::zeroed(bytes, &Arc::default()).unwrap());
    let store = Store::open(vec![Some(Slot::owned(memory, 0, T::DTYPE, extents))]);
    let mut end = endpoint(world, false, 1 << 30);
    let boxes: Boxes =
        if rows == 1 { vec![vec![0..1, 0..columns]] } else { vec![vec![0..2, 0..columns], vec![2..3, 0..columns]] };
    let value = |at: usize| T::from((at % 65521) as u16);
    let rank = world.rank();
    let everything = [0..rows, 0..columns];
    for (source, target) in [(0, 1), (1, 0)].into_iter().filter(|_| rank < 2) {
        let mut lease = store.write(0, &everything).unwrap();
        if rank == target {
            lease.view_mut::<T>().fill(T::ZERO);
        } else if source == 0 {
            lease.view_mut::<T>().iter_mut().enumerate().for_each(|(at, element)| *element = value(at));
        }
        drop(lease);
        if rank == source {
            end.send(0, target, read(&store, &boxes)).unwrap();
        } else {
            end.recv(0, source, write(&store, &boxes)).unwrap();
        }
        let started = Instant::now();
        let mut done = Vec::new();
        while done.is_empty() {
            end.poll(&mut done).unwrap();
            end.idle(done.is_empty(), false, Duration::from_millis(1));
            assert!(started.elapsed() < Duration::from_secs(300), "the transfer hangs");
        }
        assert_eq!(done, [Completion { ticket: 0, bytes: bytes as u64 }]);
        let lease = store.read(0, &everything).unwrap();
        let intact = lease.view::<T>().iter().enumerate().all(|(at, element)| *element == value(at));
        assert!(intact, "other bytes arrived");
        println!("rank {rank}: {bytes} bytes to {target} in {:.1} s, intact", started.elapsed().as_secs_f64());
    }
    end.close().unwrap();
}

/// Measures the bandwidth (GB/s) of transfers from rank 0 to rank 1 and in both directions, with four transfers in
/// flight as in a run. For comparison, the same rounds also measure the bandwidth at which rank 1 copies blocks.
fn bandwidth(world: &Communicator) {
    const ROUNDS: usize = 15;
    const WINDOW: usize = 4;
    let rank = world.rank();
    let median = |mut seconds: Vec<f64>| {
        seconds.sort_by(f64::total_cmp);
        seconds[seconds.len() / 2]
    };
    let only = std::env::args().nth(4).map(|kib| kib.parse::<usize>().unwrap() << 10);
    let sizes = [64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20];
    let sizes = sizes.into_iter().filter(|&bytes| only.is_none_or(|only| only == bytes));
    // Measures endpoints that sleep while they wait, and endpoints that spin, as they do if they have their own core.
    for (spin, bytes) in [false, true].into_iter().flat_map(|spin| sizes.clone().map(move |bytes| (spin, bytes))) {
        let mut end = endpoint(world, spin, 1 << 30);
        let elements = bytes / 8;
        let mine: Vec<_> = (0..WINDOW).map(|_| store::<f64>(rank, &[1, elements])).collect();
        let target: Vec<_> = (0..WINDOW).map(|_| store::<f64>(9, &[1, elements])).collect();
        let boxes: Boxes = vec![vec![0..1, 0..elements]];
        let (mut copied, mut one, mut both) = (Vec::new(), Vec::new(), Vec::new());
        let repeats = ((32 << 20) / bytes).clamp(1, 500);
        let each = |start: Instant| start.elapsed().as_secs_f64() / (WINDOW * repeats) as f64;
        for _ in 0..ROUNDS {
            world.line_up().unwrap();
            if rank == 1 {
                let start = Instant::now();
                for at in (0..WINDOW).cycle().take(WINDOW * repeats) {
                    let from = read(&mine[at], &boxes).remove(0);
                    write(&target[at], &boxes).remove(0).copy_from(&from);
                }
                copied.push(each(start));
            }
            world.line_up().unwrap();
            let start = Instant::now();
            if rank < 2 {
                flow(&mut end, WINDOW, repeats, |end, at| match rank {
                    0 => end.send(at, 1, read(&mine[at], &boxes)).unwrap(),
                    _ => end.recv(at, 0, write(&target[at], &boxes)).unwrap(),
                });
            }
            one.push(each(start));
            world.line_up().unwrap();
            let start = Instant::now();
            if rank < 2 {
                flow(&mut end, 2 * WINDOW, repeats, |end, at| match at.checked_sub(WINDOW) {
                    Some(at) => end.send(WINDOW + at, rank ^ 1, read(&mine[at], &boxes)).unwrap(),
                    None => end.recv(at, rank ^ 1, write(&target[at], &boxes)).unwrap(),
                });
            }
            both.push(each(start));
        }
        if rank == 1 {
            let [copied, one, both] = [copied, one, both].map(median);
            let rate = |seconds: f64| bytes as f64 / seconds / 1e9;
            println!(
                "{} {:>6} KiB  copy {:>6.2}  one way {:>6.2} ({:.2})  both ways {:>6.2} each",
                if spin { "looking " } else { "sleeping" },
                bytes >> 10,
                rate(copied),
                rate(one),
                copied / one,
                rate(both)
            );
        }
        end.close().unwrap();
    }
    latency(world);
}

/// Measures the microseconds of an exchange of 8 bytes between ranks 0 and 1, and of an agreement among all ranks.
fn latency(world: &Communicator) {
    let rank = world.rank();
    let mut end = endpoint(world, true, 1 << 30);
    let mine = store::<f64>(rank, &[2]);
    let start = Instant::now();
    for _ in 0..1000 {
        if rank < 2 {
            end.recv(0, rank ^ 1, write(&mine, &vec![vec![0..1]])).unwrap();
            end.send(1, rank ^ 1, read(&mine, &vec![vec![1..2]])).unwrap();
            finish(&mut end, 2).unwrap();
        }
    }
    let exchange = start.elapsed().as_secs_f64() * 1e3;
    let start = Instant::now();
    (0..1000).for_each(|_| assert!(world.agree(Ok::<_, String>(())).unwrap().is_ok()));
    if rank == 0 {
        println!("exchange of 8 bytes: {exchange:.2} us, agreement: {:.2} us", start.elapsed().as_secs_f64() * 1e3);
    }
    end.close().unwrap();
}

/// Keeps `window` transfers in flight. Each transfer is posted again when it completes, until it has been posted
/// `times` times.
fn flow(end: &mut Endpoint, window: usize, times: usize, post: impl Fn(&mut Endpoint, usize)) {
    (0..window).for_each(|at| post(end, at));
    let (mut left, mut open, mut done) = (vec![times; window], window, Vec::new());
    while open > 0 {
        end.poll(&mut done).unwrap();
        if done.is_empty() {
            end.idle(true, false, Duration::from_millis(10));
        }
        for Completion { ticket, .. } in done.drain(..) {
            left[ticket] -= 1;
            if left[ticket] > 0 { post(end, ticket) } else { open -= 1 }
        }
    }
}

/// Compares `moved` with the line (rank, sent, received, messages) that the byte counter wrote for this rank.
fn compare(file: &str, rank: usize, moved: &Moved) {
    let text = std::fs::read_to_string(format!("{file}.{rank}")).unwrap();
    let last = text.lines().last().unwrap();
    let counted: Vec<u64> = last.split_whitespace().take(4).map(|number| number.parse().unwrap()).collect();
    assert_eq!(counted, [rank as u64, moved.sent, moved.received, moved.messages], "counted at the border of MPI");
    println!("rank {rank}: the bytes counted at the border of MPI are those reported: {last}");
}
