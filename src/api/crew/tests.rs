//! Unit tests of `crew`.

use super::*;
use crate::api::host;

#[test]
fn threads_stay_where_they_are_placed() {
    let units = host::cpus();
    let (Some(&first), Some(&last)) = (units.first(), units.last()) else { return };
    let place = RankPlacement {
        domains: vec![0],
        units: units.clone(),
        workers: vec![last, first],
        communication: None,
        spare: false,
    };
    let crew = |workers: usize| Crew::new(0, workers, place.clone()).expect("threads");
    assert_eq!(crew(2).pool.broadcast(|_| own_cores()), [vec![last], vec![first]]);
    assert_eq!(crew(1).pool.broadcast(|_| own_cores()), [vec![last]]);
    // If a rank has more workers than its placement, the workers share all cores of the rank.
    assert!(crew(3).pool.broadcast(|_| own_cores()).iter().all(|mine| *mine == units));
    let spare = Crew::new(0, 1, RankPlacement { communication: Some(last), ..place.clone() }).expect("threads");
    for (crew, cores) in [(spare, vec![last]), (crew(1), units.clone())] {
        let bound = std::thread::spawn(move || {
            crew.bind_communication();
            own_cores()
        });
        assert_eq!(bound.join().unwrap(), cores);
    }
}

/// The cores in the calling thread's affinity mask.
fn own_cores() -> Vec<usize> {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    crate::api::cores::listed(&status)
}
