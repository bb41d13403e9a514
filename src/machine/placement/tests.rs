//! Unit tests of `placement`.

use super::super::Synthetic;
use super::*;

fn host(text: &str) -> Topology {
    text.parse::<Synthetic>().unwrap().topology()
}

/// Returns the default number of workers, and the placement of the default number of ranks.
fn default(topology: &Topology) -> (usize, Placement) {
    let ranks = topology.ranks();
    let workers = topology.workers(ranks, ranks > 1);
    (workers, topology.place(ranks, workers, ranks > 1))
}

fn lines(placement: &Placement) -> Vec<String> {
    listed(&placement.places).collect()
}

#[test]
fn dual_grace() {
    let (workers, placement) = default(&host("pack:2 numa:1 core:72 pu:1"));
    assert_eq!((workers, &placement.warnings[..]), (71, &[][..]));
    assert_eq!(
        lines(&placement),
        [
            "rank 0: NUMA domain 0, workers on 0-70, communication on 71",
            "rank 1: NUMA domain 1, workers on 72-142, communication on 143",
        ]
    );
}

#[test]
fn dual_graviton() {
    let (workers, placement) = default(&host("pack:2 numa:1 core:96 pu:1"));
    assert_eq!((workers, &placement.warnings[..]), (95, &[][..]));
    assert_eq!(
        lines(&placement),
        [
            "rank 0: NUMA domain 0, workers on 0-94, communication on 95",
            "rank 1: NUMA domain 1, workers on 96-190, communication on 191",
        ]
    );
}

#[test]
fn four_domains_per_socket() {
    let host = host("pack:2 numa:4 core:16");
    let (workers, placement) = default(&host);
    assert_eq!((workers, placement.places.len(), &placement.warnings[..]), (15, 8, &[][..]));
    for (rank, place) in placement.places.iter().enumerate() {
        let units: Vec<usize> = (16 * rank..16 * rank + 16).collect();
        let (&last, workers) = units.split_last().unwrap();
        assert_eq!((&place.domains[..], &place.units), (&[rank][..], &units));
        assert_eq!((&place.workers[..], place.communication), (workers, Some(last)));
    }
    // With one rank per socket, each rank has all domains of its socket. Three ranks cannot divide the eight domains
    // evenly.
    let places = host.place(2, 63, true);
    assert_eq!(lines(&places)[1], "rank 1: NUMA domains 4-7, workers on 64-126, communication on 127");
    assert_eq!(places.warnings[1].to_string(), "rank 1 straddles NUMA domains 4-7");
    assert_eq!(host.workers(3, true), 31);
    let places = host.place(3, 31, true).places;
    assert_eq!(places.iter().map(|place| place.domains.len()).collect::<Vec<_>>(), [3, 2, 3]);
}

#[test]
fn ranks_that_domains_do_not_divide() {
    let host = host("numa:2 core:8");
    assert_eq!(host.workers(3, true), 3);
    assert_eq!(
        lines(&host.place(3, 3, true)),
        [
            "rank 0: NUMA domain 0, workers on 0-2, communication on 3",
            "rank 1: NUMA domain 0, workers on 4-6, communication on 7",
            "rank 2: NUMA domain 1, all threads on 8-15",
        ]
    );
    let each = |ranks: usize| {
        let places = host.place(ranks, 1, true).places;
        (0..2).map(|domain| places.iter().filter(|place| place.domains == [domain]).count()).collect::<Vec<_>>()
    };
    // Without straddling, three of five ranks would share the eight cores of one domain, and the other two would have
    // four cores each in the other domain. The smallest rank would have two cores, so no rank could use more than two.
    // Instead, one rank straddles both domains.
    assert_eq!([2, 5, 6, 16].map(each), [[1, 1], [2, 2], [3, 3], [8, 8]]);
}

#[test]
fn one_core() {
    let (workers, placement) = default(&host("core:1"));
    assert_eq!((workers, &placement.warnings[..]), (1, &[][..]));
    assert_eq!(lines(&placement), ["rank 0: NUMA domain 0, workers on 0"]);
    // Two ranks, or two workers, are too many for one core.
    let crowded = host("core:1 pu:2").place(2, 1, true);
    assert_eq!(lines(&crowded)[1], "rank 1: NUMA domain 0, all threads on 0-1");
    assert_eq!(crowded.warnings[1].to_string(), "rank 1 has 1 worker and 0 cores of its own");
    let starved = host("core:1 pu:2").place(1, 2, false);
    assert_eq!(lines(&starved), ["rank 0: NUMA domain 0, all threads on 0-1"]);
    assert_eq!(starved.warnings, [Warning::Starved { rank: 0, cores: 1, workers: 2 }]);
}

#[test]
fn more_ranks_than_cores() {
    let host = host("numa:2 core:2");
    assert_eq!(host.workers(5, true), 1);
    let placement = host.place(5, 1, true);
    let starved = |warning: &Warning| matches!(warning, Warning::Starved { cores: 0, workers: 1, .. });
    assert!(placement.warnings.len() == 3 && placement.warnings.iter().all(starved));
    // A rank without its own core stays in its domain, although the other domain has enough cores.
    assert_eq!(
        lines(&placement)[2..],
        [
            "rank 2: NUMA domain 0, all threads on 0-1",
            "rank 3: NUMA domain 1, workers on 2",
            "rank 4: NUMA domain 1, workers on 3",
        ]
    );
}

#[test]
fn masks_of_other_sizes() {
    // One domain has six cores and the other has two.
    let host = host("numa:2 core:8 pu:2").restricted(&[0, 1, 2, 4, 6, 8, 10, 28, 30, 31]);
    // By default there is one rank with eight workers, because with one rank per domain, each rank could use only two
    // cores.
    let (workers, placement) = default(&host);
    assert_eq!(workers, 8);
    assert_eq!(lines(&placement), ["rank 0: NUMA domains 0-1, workers on 0,2,4,6,8,10,28,30"]);
    // Two ranks with the same number of workers, one with six cores and one with two, would keep only half of the cores
    // busy. The second rank therefore straddles.
    let two = host.place(2, host.workers(2, true), true);
    assert_eq!(
        lines(&two),
        [
            "rank 0: NUMA domain 0, workers on 0,2,4, communication on 6",
            "rank 1: NUMA domains 0-1, workers on 8,10,28, communication on 30",
        ]
    );
    assert_eq!(two.places[1].units, [8, 10, 28, 30, 31]);
    assert!(two.places.iter().all(|place| place.spare));
    // With four ranks, three are in the domain with six cores, and one is in the domain with two.
    let four = host.place(4, host.workers(4, true), true);
    assert_eq!(
        lines(&four),
        [
            "rank 0: NUMA domain 0, workers on 0, communication on 2",
            "rank 1: NUMA domain 0, workers on 4, communication on 6",
            "rank 2: NUMA domain 0, workers on 8, communication on 10",
            "rank 3: NUMA domain 1, workers on 28, communication on 30",
        ]
    );
    assert_eq!(four.places[3].units, [28, 30, 31]);
    // The mask removes two of the four cores of a host with a single domain.
    let within = Topology::flat(&[0, 1, 2, 3]).restricted(&[3, 1]);
    assert_eq!(
        lines(&within.place(2, 1, true)),
        ["rank 0: NUMA domain 0, workers on 1", "rank 1: NUMA domain 0, workers on 3",]
    );
}

#[test]
fn a_given_number_of_ranks_leaves_no_quarter_of_the_cores_idle() {
    let three = host("numa:3 core:8");
    assert_eq!((three.workers(2, true), three.workers(3, true)), (11, 7));
    let two = three.place(2, 11, true);
    assert_eq!(lines(&two)[1], "rank 1: NUMA domains 1-2, workers on 12-22, communication on 23");
    assert_eq!(two.warnings.len(), 2);
    let units: Vec<usize> = (0..60).chain(72..84).collect();
    assert_eq!(host("numa:2 core:72").restricted(&units).workers(2, true), 35);
    // With three ranks, no more than a quarter of the cores is idle, so no rank straddles.
    assert_eq!(host("numa:2 core:8").workers(3, true), 3);
}

/// Checks the default numbers of ranks and workers on hosts with given numbers of cores per domain.
#[test]
fn uneven_masks_leave_few_cores_idle() {
    let of = |cores: &[usize]| {
        let most = cores.iter().max().unwrap();
        let units = |(domain, &count): (usize, &usize)| (0..count).map(move |core| domain * most + core);
        let units: Vec<usize> = cores.iter().enumerate().flat_map(units).collect();
        let host = host(&format!("numa:{} core:{most}", cores.len())).restricted(&units);
        let ranks = host.ranks();
        (ranks, host.workers(ranks, ranks > 1))
    };
    assert_eq!([of(&[15, 1]), of(&[1, 15]), of(&[8, 4])], [(1, 16), (1, 16), (1, 12)]);
    // A single rank would use slightly more cores, but would straddle both domains.
    assert_eq!([of(&[16, 15]), of(&[72, 71])], [(2, 14), (2, 70)]);
    // One rank straddles the smallest domain and a neighbor of that domain.
    assert_eq!([of(&[8, 8, 4, 4]), of(&[1, 8, 8, 8, 8])], [(3, 7), (4, 7)]);
    assert_eq!(of(&[30, 1, 1, 1]), (1, 33));
    assert_eq!([of(&[1, 1]), of(&[8, 8, 8]), of(&[3])], [(2, 1), (3, 7), (1, 3)]);
}

#[test]
fn no_more_ranks_than_processors_that_may_be_used() {
    let host = host("pack:2 numa:4 core:16");
    assert_eq!([1, 2, 3, 7, 8, 9, 127, 128, 1000].map(|most| host.ranks_within(most)), [1, 2, 3, 7, 8, 8, 8, 8, 8]);
    let uneven = host.restricted(&[0, 1, 2, 3, 16]);
    assert_eq!([1, 2, 5].map(|most| uneven.ranks_within(most)), [1, 2, 1]);
    assert_eq!(Topology::default().ranks_within(0), 1);
}

/// Tests that a rank's threads are bound to cores only if the rank has no more cores than threads. Otherwise two small
/// runs on one host could be bound to the same cores.
#[test]
fn threads_that_do_not_fill_their_share_are_bound_to_none_of_its_cores() {
    let host = host("numa:2 core:4");
    let lines = |workers, communicate| lines(&host.place(2, workers, communicate));
    assert_eq!(lines(2, true)[1], "rank 1: NUMA domain 1, all threads on 4-7");
    assert_eq!(lines(3, true)[1], "rank 1: NUMA domain 1, workers on 4-6, communication on 7");
    assert_eq!(lines(3, false)[1], "rank 1: NUMA domain 1, all threads on 4-7");
    assert_eq!(lines(4, true)[1], "rank 1: NUMA domain 1, workers on 4-7");
    let spare = [2, 3, 4, 5].map(|workers| host.place(2, workers, true).places[0].spare);
    assert_eq!(spare, [true, true, false, false]);
}

#[test]
fn workers_have_cores_not_hardware_threads() {
    let host = host("pack:1 core:4 pu:2");
    let (workers, placement) = default(&host);
    assert_eq!((workers, &placement.places[0].workers[..]), (4, &[0, 2, 4, 6][..]));
    assert_eq!(placement.places[0].units, [0, 1, 2, 3, 4, 5, 6, 7]);
    // The second hardware thread of a worker's core is not a spare core.
    assert_eq!(
        lines(&host.place(2, 2, true)),
        ["rank 0: NUMA domain 0, workers on 0,2", "rank 1: NUMA domain 0, workers on 4,6",]
    );
}

/// Tests on every host that each core belongs to exactly one rank, and that the numbers of cores of ranks within a
/// domain differ by at most one.
#[test]
fn shares_are_even_and_complete() {
    for text in ["core:1", "core:7", "numa:3 core:5", "pack:2 numa:4 core:3", "numa:2 core:64 pu:2"] {
        let host = host(text);
        for ranks in 1..=2 * host.cores() {
            let shares = host.shares(ranks);
            let all: Vec<&Vec<usize>> = shares.iter().flat_map(|share| share.cores.clone()).collect();
            assert_eq!(all, cores_of(&host.domains), "{text}, {ranks} ranks");
            for domain in &host.domains {
                let own = shares.iter().filter(|share| share.domains[0] == *domain && share.domains.len() == 1);
                let sizes: Vec<usize> = own.map(|share| share.cores.len()).collect();
                let (least, most) = (sizes.iter().min(), sizes.iter().max());
                assert!(most.zip(least).is_none_or(|(most, least)| most - least <= 1), "{text}, {ranks}: {sizes:?}");
            }
            let (workers, least) = (host.workers(ranks, true), shares.iter().map(|share| share.cores.len()).min());
            assert_eq!(workers, least.unwrap().saturating_sub(1).max(1));
            assert_eq!(host.place(ranks, workers, true).places.len(), ranks);
        }
    }
}

#[test]
fn an_unknown_topology_pins_no_rank() {
    let nothing = Topology::default();
    assert_eq!((nothing.ranks(), nothing.workers(3, true)), (1, 1));
    assert_eq!(lines(&nothing.place(2, 1, true)), ["rank 0: where the system likes", "rank 1: where the system likes"]);
}

#[test]
fn of_many_ranks_some_are_listed() {
    let places = vec![RankPlacement::default(); MAX_LISTED_RANKS + 3];
    let lines: Vec<String> = listed(&places).collect();
    assert_eq!((lines.len(), lines[MAX_LISTED_RANKS].as_str()), (MAX_LISTED_RANKS + 1, "and 3 more"));
    assert_eq!(listed(&places[..MAX_LISTED_RANKS]).count(), MAX_LISTED_RANKS);
}

#[test]
fn defaults_of_large_hosts() {
    let grace = host("pack:2 numa:1 core:72");
    assert_eq!((grace.ranks_within(144), grace.ranks_within(1)), (2, 1));
    assert_eq!((grace.workers(1, false), grace.workers(2, true), grace.workers(144, true)), (144, 71, 1));
}
