//! Unit tests of `redistribute`.

use super::*;
use crate::dims::Label;
use crate::distribution::{Axis, Distribution, Owners};
use crate::schedule::verify::{self, Order, Origin, Spec, Value};
use crate::schedule::{Action, Buffer, BufferPlacement, Factor, Home, Schedule};

fn bytes_sent(schedule: &Schedule) -> u64 {
    let sends = schedule.tasks.iter().filter(|task| matches!(task.action, Action::Send { .. }));
    sends.map(|task| schedule.bytes(&task.action)).sum()
}

fn proved(shape: &[usize], from: &Distribution, to: &Distribution, ranks: usize) -> Vec<Schedule> {
    let labels: Vec<Label> = (0..shape.len()).map(|at| Label(at as u32)).collect();
    let value = |distribution: &Distribution, origin| {
        let (labels, shape, order) = (labels.clone(), shape.to_vec(), Order::Ascending);
        Value { labels, shape, distribution: distribution.clone(), origin, order, conjugated: false }
    };
    let values = vec![value(from, Origin::Operand(0)), value(to, Origin::Same { input: 0 })];
    let schedule = |rank| {
        let mut builder = Builder::new(rank, ranks, 4);
        let homes = [Home::Operand(0), Home::Output];
        let [from, to] = [0, 1].map(|node| {
            let Value { labels, shape, distribution, .. } = values[node].clone();
            let buffer = distribution.block(&shape, rank).map(|region| {
                let summand = (distribution.summand(rank).unwrap_or(0), distribution.summands());
                let (labels, extents) = (labels.clone(), region.extents());
                let (within, place) = (extents.clone(), Some(BufferPlacement { region, summand }));
                builder.declare(Buffer { node, labels, extents, within, home: homes[node], place })
            });
            Tensor { node, labels, shape, distribution, buffer, window: None }
        });
        redistribute(&mut builder, &from, &to);
        if let Some(out) = to.own(rank, &[]).filter(|out| out.elements() > 0) {
            builder.work(Work::Scale { out, factor: Factor::Alpha });
        }
        builder.finish()
    };
    let schedules: Vec<Schedule> = (0..ranks).map(schedule).collect();
    let spec = Spec { values: values.clone(), output: 1, accumulate: false };
    verify::whole(&schedules, &spec, None).unwrap_or_else(|error| panic!("{error}: {from:?} to {to:?}"));
    schedules
}

#[test]
fn those_who_have_it_pass_it_on() {
    for ranks in 1..=9 {
        for root in 0..ranks {
            for shape in [vec![], vec![0, 3], vec![5, 7], vec![700, 300]] {
                let single = Distribution::single().owned_by(Owners::From(root));
                let schedules = proved(&shape, &single, &Distribution::replicated(ranks), ranks + 1);
                let bytes = 4 * shape.iter().product::<usize>() as u64;
                let moved = schedules.iter().map(Schedule::bytes_received).collect::<Vec<_>>();
                let due = |rank: usize| if rank < ranks && rank != root { bytes } else { 0 };
                assert_eq!(moved, (0..=ranks).map(due).collect::<Vec<_>>());
                let levels = u64::from(ranks.next_power_of_two().ilog2());
                assert!(bytes_sent(&schedules[root]) <= levels * bytes);
                // With eight pieces, a ring is faster than a tree with three or four levels, and the root of a ring
                // sends the tensor only once.
                if (5..=9).contains(&ranks) && bytes > 4 << 17 {
                    assert_eq!(bytes_sent(&schedules[root]), bytes);
                }
            }
        }
    }
}

#[test]
fn others_do_not() {
    let axes = |roles: [Role; 2]| Distribution::new(roles.map(|role| Axis { ranks: 3, role }).to_vec());
    let rows = Role::Cut { dim: 0, how: crate::distribution::Cut::Even };
    for to in
        [axes([rows.clone(), Role::Replicate]), axes([Role::Replicate, Role::Partial]), axes([rows, Role::Partial])]
    {
        proved(&[700, 300], &Distribution::single(), &to, 9);
        proved(&[700, 300], &Distribution::single().owned_by(Owners::From(9)), &Distribution::replicated(9), 10);
    }
}

#[test]
fn other_groups_receive_copies_of_a_first_group() {
    let rows = |ranks| Distribution::cut(0, ranks);
    for (block, ranks) in [(Distribution::single(), 1), (rows(2), 2), (rows(3), 3), (rows(2), 4)] {
        for copies in 1..=6 {
            let mut axes = block.axes().to_vec();
            axes.insert(0, Axis { ranks: copies, role: Role::Replicate });
            let group = |copy| (0..block.places()).map(move |at| (copy + 1) * ranks + at);
            let owners = Owners::Listed((0..copies).flat_map(group).collect());
            let others = Distribution::new(axes).owned_by(owners);
            for shape in [[0, 3], [5, 7], [700, 300]] {
                let schedules = proved(&shape, &block, &others, (copies + 1) * ranks);
                let bytes = 4 * shape.iter().product::<usize>() as u64;
                assert_eq!(schedules.iter().map(Schedule::bytes_received).sum::<u64>(), copies as u64 * bytes);
                let levels = u64::from((copies + 1).next_power_of_two().ilog2());
                let sent = schedules[..ranks].iter().map(bytes_sent).sum::<u64>();
                assert!(sent <= levels * bytes && schedules.iter().all(|schedule| schedule.arena_bytes == 0));
            }
        }
    }
}
