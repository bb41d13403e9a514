//! Tests orders and slices against independent counts: random networks with hyper-indices, outer products, open labels
//! and disconnected parts, small enough for an exhaustive search; and large ones against simple orders.

use std::collections::{BTreeSet, HashMap};

use einsum_path::{Found, Network, Prepared, Price, Progress, Request, Settings, Solution, search};

/// A random number generator for test cases.
struct Cases(u64);

impl Cases {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    fn network(&mut self, tensors: usize, labels: u32) -> Network {
        let tensors = (0..tensors).map(|_| {
            let rank = self.below(4);
            (0..rank).map(|_| self.below(labels.into()) as u32).collect::<Vec<u32>>()
        });
        let tensors: Vec<Vec<u32>> = tensors.collect();
        let used: BTreeSet<u32> = tensors.iter().flatten().copied().collect();
        let output = used.into_iter().filter(|_| self.below(5) == 0).collect();
        let extents = (0..labels).map(|_| 1 + self.below(5) as usize).collect();
        Network { tensors, output, extents }
    }
}

fn lattice(width: u32, height: u32) -> Network {
    let at = |x: u32, y: u32| x * height + y;
    let mut tensors = Vec::new();
    for x in 0..width {
        for y in 0..height {
            let mut labels = Vec::new();
            if x > 0 {
                labels.push(2 * at(x - 1, y));
            }
            if x + 1 < width {
                labels.push(2 * at(x, y));
            }
            if y > 0 {
                labels.push(2 * at(x, y - 1) + 1);
            }
            if y + 1 < height {
                labels.push(2 * at(x, y) + 1);
            }
            tensors.push(labels);
        }
    }
    Network { tensors, output: vec![], extents: vec![2; 2 * (width * height) as usize] }
}

fn found(network: &Network, limit: f64, threads: usize, seconds: f64) -> (Prepared, Found) {
    let prepared = Prepared::new(network);
    let settings = Settings { price: Price { element: 0.0, step: 0.0 }, limit };
    let request = Request { threads, budget: &|_| seconds, known: Vec::new(), excess: &|s| s.largest - limit };
    let found = search(&prepared, settings, request);
    (prepared, found)
}

/// The multiply-adds and the largest result of an order, counted label by label. Sliced labels have one value, and
/// everything is repeated for each slice.
fn counted(network: &Network, prepared: &Prepared, solution: &Solution) -> (f64, f64) {
    let sliced: BTreeSet<u32> = solution.sliced.iter().map(|&label| prepared.originals[label]).collect();
    let mut live: HashMap<usize, BTreeSet<u32>> = HashMap::new();
    for (at, labels) in network.tensors.iter().enumerate() {
        live.insert(at, labels.iter().copied().filter(|label| !sliced.contains(label)).collect());
    }
    let size = |labels: &BTreeSet<u32>| labels.iter().map(|&l| network.extents[l as usize] as f64).product::<f64>();
    let needed = |live: &HashMap<usize, BTreeSet<u32>>, label: &u32| {
        network.output.contains(label) || live.values().any(|labels| labels.contains(label))
    };
    let (mut products, mut largest) = (0.0, 1.0f64);
    for (at, pair) in solution.steps.iter().enumerate() {
        let [mut one, mut other] = pair.map(|tensor| live.remove(&tensor).expect("each tensor is contracted once"));
        let both = one.clone();
        one.retain(|label| other.contains(label) || needed(&live, label));
        other.retain(|label| both.contains(label) || needed(&live, label));
        let mut union: BTreeSet<u32> = one.union(&other).copied().collect();
        products += size(&union);
        union.retain(|label| needed(&live, label));
        if at + 1 < solution.steps.len() {
            largest = largest.max(size(&union));
        }
        live.insert(network.tensors.len() + at, union);
    }
    assert_eq!(live.len(), 1, "one result is left");
    let slices: f64 = sliced.iter().map(|&label| network.extents[label as usize] as f64).product();
    (products * slices, largest)
}

/// The fewest multiply-adds of all orders.
fn fewest(network: &Network) -> f64 {
    fn step(network: &Network, live: &[BTreeSet<u32>], cost: f64, best: &mut f64) {
        if live.len() == 1 {
            *best = best.min(cost);
        }
        for right in 1..live.len() {
            for left in 0..right {
                let mut rest = live.to_vec();
                let other = rest.remove(right);
                let one = rest.remove(left);
                let kept = |label: &u32| network.output.contains(label) || rest.iter().any(|l| l.contains(label));
                let shared = |label: &u32| one.contains(label) && other.contains(label);
                let union: BTreeSet<u32> =
                    one.union(&other).copied().filter(|label| shared(label) || kept(label)).collect();
                let size: f64 = union.iter().map(|&label| network.extents[label as usize] as f64).product();
                if cost + size < *best {
                    let result = union.into_iter().filter(kept).collect();
                    rest.push(result);
                    step(network, &rest, cost + size, best);
                }
            }
        }
    }
    let live: Vec<BTreeSet<u32>> =
        network.tensors.iter().map(|labels| labels.iter().copied().collect::<BTreeSet<u32>>()).collect();
    let mut best = f64::INFINITY;
    step(network, &live, 0.0, &mut best);
    best
}

#[test]
fn small_networks_get_the_fewest_multiply_adds() {
    let mut cases = Cases(7);
    for case in 0..150 {
        let tensors = 2 + cases.below(5) as usize;
        let labels = 2 + cases.below(7) as u32;
        let network = cases.network(tensors, labels);
        let (prepared, found) = found(&network, f64::INFINITY, 1, 0.004);
        let best = &found.solutions[0];
        let (products, largest) = counted(&network, &prepared, best);
        assert!((products.log2() - best.products).abs() < 1e-3, "case {case}: {products} {best:?}");
        assert!((largest.log2() - best.largest).abs() < 1e-3, "case {case}: {largest} {best:?}");
        let fewest = fewest(&network);
        assert!(products <= fewest * 1.000_001, "case {case}: {products}, but {fewest} in {network:?}");
    }
}

#[test]
fn slices_keep_results_within_the_limit() {
    let mut cases = Cases(11);
    for case in 0..60 {
        let tensors = 4 + cases.below(20) as usize;
        let network = cases.network(tensors, 24);
        let (prepared, whole) = found(&network, f64::INFINITY, 1, 0.003);
        // Results at least as large as the output remain.
        let output: f64 = network.output.iter().map(|&label| (network.extents[label as usize] as f64).log2()).sum();
        let limit = (whole.solutions[0].largest - 2.0).max(1.0).max(output);
        let (_, sliced) = found(&network, limit, 1, 0.003);
        let best = &sliced.solutions[0];
        let (products, largest) = counted(&network, &prepared, best);
        assert!(largest.log2() <= limit + 1e-6, "case {case}: {largest} above 2^{limit}");
        assert!((products.log2() - best.products).abs() < 1e-3, "case {case}: {products} {best:?}");
        assert!(best.sliced.windows(2).all(|pair| pair[0] < pair[1]));
    }
}

#[test]
fn the_number_of_threads_does_not_matter() {
    let network = lattice(9, 7);
    let [one, two, four] = [1, 2, 4].map(|threads| {
        let prepared = Prepared::new(&network);
        let settings = Settings { price: Price { element: 1.0, step: 0.0 }, limit: 6.0 };
        let limit = 6.0;
        // A budget that counts rounds, because one thread spends more nominal time on a round than several threads.
        let budget = |rounds: &[Progress]| if rounds.len() >= 6 { 0.0 } else { 1e9 };
        search(
            &prepared,
            settings,
            Request { threads, budget: &budget, known: Vec::new(), excess: &|s| s.largest - limit },
        )
    });
    assert_eq!(one.solutions, two.solutions);
    assert_eq!(one.solutions, four.solutions);
}

#[test]
fn large_networks_are_annealed_in_windows() {
    // More than 2048 labels.
    let network = lattice(36, 36);
    let (prepared, short) = found(&network, f64::INFINITY, 2, 0.02);
    let (_, long) = found(&network, f64::INFINITY, 2, 0.5);
    for best in [&short.solutions[0], &long.solutions[0]] {
        let (products, largest) = counted(&network, &prepared, best);
        assert!((products.log2() - best.products).abs() < 1e-3 && (largest.log2() - best.largest).abs() < 1e-3);
    }
    assert!(long.solutions[0].products <= short.solutions[0].products);
    // Contracting column by column takes about 36^2 x 2^38 = 2^48.3 multiply-adds, and other orders hardly fewer.
    assert!(long.solutions[0].products < 49.3, "{}", long.solutions[0].products);
}

#[test]
fn large_networks_are_sliced() {
    let network = lattice(33, 33);
    let (prepared, found) = found(&network, 30.0, 2, 0.2);
    let best = &found.solutions[0];
    let (products, largest) = counted(&network, &prepared, best);
    assert!(largest <= 30f64.exp2() && !best.sliced.is_empty());
    assert!((products.log2() - best.products).abs() < 1e-3);
}

#[test]
fn networks_without_choices_have_orders() {
    let of = |tensors: Vec<Vec<u32>>, output| Network { tensors, output, extents: vec![3, 1, 0, 7] };
    let networks = [
        of(vec![], vec![]),
        of(vec![vec![0]], vec![0]),
        of(vec![vec![], vec![]], vec![]),
        of(vec![vec![0], vec![3], vec![]], vec![3]),
        of(vec![vec![0, 0, 3], vec![3, 2], vec![1], vec![1, 0]], vec![2]),
    ];
    for network in networks {
        let (_, found) = found(&network, f64::INFINITY, 4, 0.001);
        assert_eq!(found.solutions[0].steps.len(), network.tensors.len().saturating_sub(1));
    }
}
