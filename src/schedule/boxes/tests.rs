//! Unit tests of `boxes`.

use super::*;

/// Tests random boxes in up to four dimensions, of extents from 0 to 5, against a list.
#[test]
fn boxes_that_overlap_are_found_as_in_a_list() {
    let mut seed = 88_172_645_463_325_252_u64;
    let mut random = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed >> 11) as usize % below
    };
    for round in 0..400 {
        let dims = round % 5;
        let mut map: BoxMap<Vec<usize>> = BoxMap::default();
        let mut list: Vec<(Bounds, usize)> = Vec::new();
        for step in 0..60 {
            let bounds: Bounds = (0..dims)
                .map(|_| {
                    let start = random(5);
                    start..start + random(6 - start)
                })
                .collect();
            let meets =
                |other: &Bounds| other.iter().zip(&bounds).all(|(a, b)| a.start.max(b.start) < a.end.min(b.end));
            let sorted = |mut found: Vec<usize>| {
                found.sort_unstable();
                found
            };
            let expected = list.iter().filter(|(other, _)| meets(other)).map(|(_, number)| *number).collect();
            assert_eq!(sorted(map.values(&bounds).flatten().copied().collect()), sorted(expected), "{bounds:?}");
            for (found, numbers) in map.overlapping(&bounds) {
                assert!(numbers.iter().all(|number| list.contains(&(found.clone(), *number))));
            }
            if random(3) > 0 {
                map.entry(&bounds).push(step);
                list.push((bounds, step));
            } else {
                list.retain(|(other, number)| !meets(other) || number % 3 == 0);
                map.retain(&bounds, |_, numbers| {
                    numbers.retain(|number| number % 3 == 0);
                    !numbers.is_empty()
                });
            }
        }
    }
}

/// Tests that finding one of the 2^16 elements of an array with 16 dimensions takes few steps.
#[test]
fn many_short_dimensions_take_few_steps() {
    let of = |number: usize| -> Bounds { (0..16).map(|dim| (number >> dim & 1)..(number >> dim & 1) + 1).collect() };
    let mut map: BoxMap<usize> = BoxMap::default();
    (0..1 << 16).for_each(|number| *map.entry(&of(number)) = number);
    for number in 0..1 << 16 {
        assert_eq!(map.values(&of(number)).copied().collect::<Vec<_>>(), [number]);
    }
}
