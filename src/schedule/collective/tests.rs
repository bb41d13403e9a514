//! Tests patterns by simulating which summands every member has after each message. Also compares distances with
//! numbers computed by hand.

use super::price_tests::{RATES, price};
use super::{Collective, CollectiveAlgorithm, Message, Pattern};

#[test]
fn sums_of_a_member_have_the_order_of_the_algorithm() {
    let own = |algorithm| {
        let sums = Pattern::new(Collective::ReduceScatter, algorithm, 4).sums();
        sums[1].iter().find(|sum| sum.part == 1).map(|sum| sum.members.clone())
    };
    assert_eq!(own(CollectiveAlgorithm::Direct), Some(vec![1, 0, 3, 2]));
    assert_eq!(own(CollectiveAlgorithm::Ring), Some(vec![1, 2, 3, 0]));
    assert_eq!(own(CollectiveAlgorithm::Tree), Some(vec![1, 0, 3, 2]));
}

#[test]
fn sums_of_one_member_are_those_of_all() {
    for algorithm in CollectiveAlgorithm::ALL {
        for members in 1..=9 {
            let pattern = Pattern::new(Collective::ReduceScatter, algorithm, members);
            if algorithm != CollectiveAlgorithm::Direct {
                let of_each: Vec<_> = (0..members).map(|member| pattern.sums_of(member)).collect();
                assert_eq!(of_each, pattern.sums(), "{algorithm:?} with {members} members");
            }
            for message in pattern.messages() {
                let part = message.parts.iter().next().unwrap();
                let sums = pattern.sums().swap_remove(message.from);
                let sum = sums.into_iter().find(|sum| sum.part == part).map(|sum| sum.members);
                assert_eq!(pattern.sum(message.from, part), sum.unwrap_or_else(|| vec![message.from]));
            }
        }
    }
}

/// Recursive doubling: members 0 and 2, and 1 and 3, exchange one part; then neighbours exchange two parts.
#[test]
fn an_all_gather_on_a_tree_doubles_parts() {
    let pattern = Pattern::new(Collective::AllGather, CollectiveAlgorithm::Tree, 4);
    let to = |round| pattern.step(2, round).sent.map(|m| (m.to, m.parts.iter().collect::<Vec<_>>()));
    assert_eq!((to(0), to(2)), (Some((0, vec![2])), Some((3, vec![0, 2]))));
    assert_eq!(pattern.messages().count(), 8);
}

/// Returns every collective on `members` members, with every root.
fn collectives(members: usize) -> Vec<Collective> {
    let rooted = |root| [Collective::Broadcast { root }, Collective::Scatter { root }, Collective::Gather { root }];
    let all = [Collective::AllGather, Collective::ReduceScatter, Collective::AllReduce];
    (0..members).flat_map(rooted).chain(all).collect()
}

/// For each member and part, the members whose summands are in the data that the member has for the part. If the
/// collective only copies, this is the part's owner. `None` if the member has no data for the part.
type Holdings = Vec<Vec<Option<Vec<usize>>>>;

fn at_first(collective: Collective, members: usize) -> Holdings {
    let has = |member: usize, part: usize| match collective {
        Collective::Broadcast { root } | Collective::Scatter { root } => (member == root).then(|| vec![part]),
        Collective::Gather { .. } | Collective::AllGather => (member == part).then(|| vec![part]),
        Collective::ReduceScatter | Collective::AllReduce => Some(vec![member]),
    };
    let parts = if matches!(collective, Collective::Broadcast { .. }) { 1 } else { members };
    (0..members).map(|member| (0..parts).map(|part| has(member, part)).collect()).collect()
}

/// Whether a member must have a part at the end of the collective.
fn is_due(collective: Collective, member: usize, part: usize) -> bool {
    match collective {
        Collective::Broadcast { .. } | Collective::AllGather | Collective::AllReduce => true,
        Collective::Scatter { .. } | Collective::ReduceScatter => member == part,
        Collective::Gather { root } => member == root,
    }
}

fn simulate(collective: Collective, algorithm: CollectiveAlgorithm, members: usize) {
    let what = format!("{collective:?} {algorithm:?} of {members}");
    let pattern = Pattern::new(collective, algorithm, members);
    let mut contents = at_first(collective, members);
    let all: Vec<usize> = (0..members).collect();
    for round in 0..pattern.rounds() {
        let before = contents.clone();
        for message in pattern.round(round) {
            let Message { from, to, parts, reduce } = message;
            assert!(from != to && to < members && parts.count > 0, "{what}: {message:?}");
            assert_eq!(pattern.step(to, round).received, Some(message), "{what}: both ends know it");
            for part in parts.iter() {
                // Messages of one round must not depend on each other, so they only send data that the sender had
                // before the round.
                let sent = before[from][part].clone();
                let sent = sent.unwrap_or_else(|| panic!("{what}: {from} does not have {part} in round {round}"));
                let here = &mut contents[to][part];
                if reduce {
                    contents[from][part] = None;
                    let here = contents[to][part].as_mut();
                    here.unwrap_or_else(|| panic!("{what}: {to} has given {part} away")).extend(sent);
                } else {
                    assert!(collective == Collective::AllReduce && sent.len() == members || sent.len() == 1, "{what}");
                    assert!(here.is_none() || collective == Collective::AllReduce, "{what}: {to} has {part} already");
                    *here = Some(sent);
                }
            }
        }
        for member in 0..members {
            if let Some(message) = pattern.step(member, round).received {
                assert_eq!(pattern.step(message.from, round).sent, Some(message), "{what}: both ends know it");
            }
        }
    }
    let sums = pattern.sums();
    for (member, parts) in contents.into_iter().enumerate() {
        for (part, here) in parts.into_iter().enumerate().filter(|(part, _)| is_due(collective, member, *part)) {
            let Some(mut here) = here else { panic!("{what}: {member} does not get {part}") };
            if !pattern.reduces() {
                assert_eq!(here, [part], "{what}");
                continue;
            }
            if member == part {
                let listed = sums[member].iter().find(|sum| sum.part == part).map(|sum| &sum.members);
                assert_eq!(listed, Some(&here), "{what}: the order is known");
            }
            here.sort_unstable();
            assert_eq!(here, all, "{what}: every summand once");
        }
    }
}

#[test]
fn everybody_gets_what_it_should() {
    for members in 1..=17 {
        for collective in collectives(members) {
            CollectiveAlgorithm::ALL.into_iter().for_each(|algorithm| simulate(collective, algorithm, members));
        }
    }
}

/// Returns the number of words that each member receives, for parts with these sizes.
fn received(collective: Collective, algorithm: CollectiveAlgorithm, sizes: &[usize]) -> Vec<usize> {
    let mut received = vec![0; sizes.len()];
    let pattern = Pattern::new(collective, algorithm, sizes.len());
    for message in pattern.messages() {
        received[message.to] += message.parts.iter().map(|part| sizes[part]).sum::<usize>();
    }
    received
}

#[test]
fn words_of_exchanges() {
    for members in 1..=17 {
        let sizes: Vec<usize> = (0..members).map(|part| 7 * part % 5).collect();
        let whole: usize = sizes.iter().sum();
        let but = |without: &dyn Fn(usize) -> usize| -> Vec<usize> {
            (0..members).map(|member| whole - sizes[without(member)]).collect()
        };
        for algorithm in CollectiveAlgorithm::ALL {
            // Each member receives every other member's part once, whatever the algorithm.
            assert_eq!(received(Collective::AllGather, algorithm, &sizes), but(&|member| member));
            let all: usize = received(Collective::ReduceScatter, algorithm, &sizes).iter().sum();
            assert_eq!(all, (members - 1) * whole, "{algorithm:?}");
            let even = received(Collective::ReduceScatter, algorithm, &vec![3; members]);
            if algorithm != CollectiveAlgorithm::Tree || members.is_power_of_two() {
                // If there are s members, each receives (s - 1) / s of the tensor.
                assert_eq!(even, vec![3 * (members - 1); members], "{algorithm:?}");
            }
        }
        let own = sizes.iter().map(|size| size * (members - 1)).collect::<Vec<_>>();
        assert_eq!(received(Collective::ReduceScatter, CollectiveAlgorithm::Direct, &sizes), own);
        assert_eq!(
            received(Collective::ReduceScatter, CollectiveAlgorithm::Ring, &sizes),
            but(&|member| (member + 1) % members)
        );
    }
    // If the number of members is odd, the last member has no partner. It sends its summands for the odd half to the
    // member before it. The even half has one part more than the odd half, so members of the even half receive more
    // words from their partners.
    assert_eq!(received(Collective::ReduceScatter, CollectiveAlgorithm::Tree, &[1; 3]), [3, 2, 1]);
    assert_eq!(received(Collective::ReduceScatter, CollectiveAlgorithm::Tree, &[1; 5]), [6, 3, 5, 5, 1]);
    assert_eq!(received(Collective::ReduceScatter, CollectiveAlgorithm::Tree, &[1; 7]), [7, 6, 7, 5, 7, 7, 3]);
}

#[test]
fn words_from_and_to_a_root() {
    let sizes = [1, 2, 4, 8, 16, 32];
    let scatter = Collective::Scatter { root: 1 };
    assert_eq!(received(scatter, CollectiveAlgorithm::Direct, &sizes), [1, 0, 4, 8, 16, 32]);
    assert_eq!(received(scatter, CollectiveAlgorithm::Ring, &sizes), [1, 0, 61, 57, 49, 33]);
    // Round 0: 1 -> 3 with parts 3, 4 and 5. Round 1: 1 -> 2 and 3 -> 5. Round 2: 1 -> 0 and 3 -> 4.
    assert_eq!(received(scatter, CollectiveAlgorithm::Tree, &sizes), [1, 0, 4, 56, 16, 32]);
    let gather = Collective::Gather { root: 1 };
    assert_eq!(received(gather, CollectiveAlgorithm::Direct, &sizes), [0, 61, 0, 0, 0, 0]);
    assert_eq!(received(gather, CollectiveAlgorithm::Ring, &sizes), [0, 61, 57, 49, 33, 1]);
    assert_eq!(received(gather, CollectiveAlgorithm::Tree, &sizes), [0, 61, 0, 48, 0, 0]);
    for algorithm in CollectiveAlgorithm::ALL {
        let pattern = Pattern::new(Collective::Broadcast { root: 4 }, algorithm, 6);
        let mut to: Vec<usize> = pattern.messages().map(|message| message.to).collect();
        to.sort_unstable();
        assert_eq!(to, [0, 1, 2, 3, 5], "{algorithm:?}");
    }
}

#[test]
fn rounds_of_trees_are_logarithms() {
    for members in 1..=17usize {
        let levels = (0..).find(|&levels| 1 << levels >= members).unwrap_or(0);
        let used = |collective| {
            let pattern = Pattern::new(collective, CollectiveAlgorithm::Tree, members);
            (0..pattern.rounds()).filter(|&round| pattern.round(round).next().is_some()).count()
        };
        assert_eq!(used(Collective::Broadcast { root: members / 2 }), levels);
        assert_eq!(used(Collective::Gather { root: 0 }), levels);
        if members.is_power_of_two() {
            assert_eq!(used(Collective::AllGather), levels);
            assert_eq!(used(Collective::AllReduce), 2 * levels);
        }
    }
}

#[test]
fn trees_go_the_least_distance() {
    for members in 1..=17 {
        for root in 0..members {
            // In a scatter, parts must only move towards their owners.
            let far = |message: &Message| message.from.abs_diff(message.to);
            let scatter = Pattern::new(Collective::Scatter { root }, CollectiveAlgorithm::Tree, members);
            let carried: usize = scatter.messages().map(|message| message.parts.count * far(&message)).sum();
            assert_eq!(carried, (0..members).map(|part| part.abs_diff(root)).sum::<usize>());
        }
        // From level to level, the size of messages doubles and their distance is halved.
        let exchange = Pattern::new(Collective::AllGather, CollectiveAlgorithm::Tree, members);
        for message in exchange.messages() {
            assert_eq!(message.from.abs_diff(message.to) * 2, message.parts.step);
            assert!(message.parts.count * message.parts.step < members + message.parts.step);
        }
    }
    let carried = |algorithm| price(&Pattern::new(Collective::AllGather, algorithm, 8), &[1; 8], 1, RATES).carried;
    // The expected sums of parts times distance. Tree: 8 x (1 x 4 + 2 x 2 + 4 x 1). Direct: 8 x (1 + 2 + 3 + 4 + 3 + 2
    // + 1). Ring: 8 x 7.
    assert_eq!(
        [CollectiveAlgorithm::Tree, CollectiveAlgorithm::Direct, CollectiveAlgorithm::Ring].map(carried),
        [96, 128, 56]
    );
}
