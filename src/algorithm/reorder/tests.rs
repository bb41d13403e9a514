//! Unit tests of `reorder`.

use super::*;

const CHUNKS: [Effort; 4] = [
    Effort { receive: 0, compute: 10 },
    Effort { receive: 40, compute: 10 },
    Effort { receive: 20, compute: 30 },
    Effort { receive: 5, compute: 30 },
];

#[test]
fn orders_by_cost() {
    assert_eq!(Reorder::Direct.order(&CHUNKS), [0, 1, 2, 3]);
    assert_eq!(Reorder::ByCost.order(&CHUNKS), [0, 3, 2, 1]);
    let spent = |order: Reorder| seconds(&CHUNKS, &order.order(&CHUNKS));
    assert_eq!([Reorder::Direct, Reorder::ByCost, Reorder::Exhaustive].map(spent), [120, 90, 90]);
}

#[test]
fn the_exhaustive_one_is_the_least_and_all_have_every_chunk() {
    let mut number = 1u64;
    let mut random = |below: u64| {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (number >> 33) % below
    };
    for _ in 0..200 {
        let count = random(7) as usize;
        let chunks: Vec<Effort> =
            (0..count).map(|_| Effort { receive: random(3) * random(50), compute: random(60) }).collect();
        let least = seconds(&chunks, &Reorder::Exhaustive.order(&chunks));
        for how in Reorder::ALL {
            let mut order = how.order(&chunks);
            assert!(least <= seconds(&chunks, &order));
            order.sort_unstable();
            assert_eq!(order, (0..count).collect::<Vec<_>>());
        }
        for _ in 0..20 {
            let mut order: Vec<usize> = (0..count).collect();
            for at in 1..count {
                order.swap(at, random(at as u64 + 1) as usize);
            }
            assert!(least <= seconds(&chunks, &order));
        }
    }
}
