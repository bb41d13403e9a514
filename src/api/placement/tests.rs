//! Unit tests of `placement`.

use super::*;

#[test]
fn ranks_share_the_cores_of_the_process() {
    let units = host::allowed().expect("a topology");
    let ranks = units.cores();
    if ranks < 2 || host::cpus().is_empty() {
        return;
    }
    let world = World::in_process(ranks);
    assert_eq!(world.default_workers().unwrap(), 1);
    assert!(world.places().unwrap().iter().all(|place| place.workers.is_empty()));
    world.place(1).unwrap();
    let mut workers: Vec<usize> = world.places().unwrap().into_iter().flat_map(|place| place.workers).collect();
    workers.sort_unstable();
    workers.dedup();
    assert_eq!(workers.len(), ranks, "a core each");
    // If there are fewer cores than ranks, the workers of some ranks are not pinned to single cores.
    let crowded = World::in_process(ranks + 1);
    crowded.place(1).unwrap();
    assert!(crowded.places().unwrap().iter().any(|place| place.workers.is_empty()));
    let single = World::single();
    single.place(1).unwrap();
    assert_eq!(single.places().unwrap()[0].units, host::cpus());
}
