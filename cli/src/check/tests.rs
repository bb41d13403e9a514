//! Unit tests of `check`.

use clap::Parser;

use super::super::args::Args;
use super::strategy::SAMPLE_ELEMENTS;
use super::*;

/// Computes a result on one process, adds `off` to one element, and checks it.
fn checked(arguments: &[&str], off: f32) -> CheckReport {
    let first = |block: &mut ndarray::ArrayViewMutD<'_, f32>| {
        let place = vec![0; block.ndim()];
        block[place.as_slice()] += off;
    };
    changed(arguments, first)
}

/// Computes a result on one process, modifies it by `change`, and checks it.
fn changed(arguments: &[&str], change: impl Fn(&mut ndarray::ArrayViewMutD<'_, f32>)) -> CheckReport {
    changed_by(arguments, change, 0)
}

/// Like [`changed`], also multiplies the result by 2^`exponent`.
fn changed_by(
    arguments: &[&str],
    change: impl Fn(&mut ndarray::ArrayViewMutD<'_, f32>),
    mut exponent: i64,
) -> CheckReport {
    let world = World::single();
    let arguments = ["einsum-dist", "-t1", "--check"].iter().chain(arguments);
    let config = RunConfig::new(&world, Args::parse_from(arguments)).unwrap();
    let operand = |index: usize| {
        let value = config.plan.operand(index);
        DistTensor::<f32>::random(
            &world,
            &config.plan.operand_shape(index),
            &value.distribution,
            config.args.seed,
            index as u32,
        )
    };
    let operands: Vec<_> = (0..config.plan.operands).map(operand).collect();
    let output = config.plan.output();
    let mut out = DistTensor::zeros(&world, &config.plan.output_shape(), &output.distribution);
    let mut program = world.compile::<f32>(&config.plan).unwrap();
    let operands: Vec<_> = operands.iter().collect();
    if config.args.exponent {
        exponent += program.run_dist_with_exponent(&operands, &mut out).unwrap();
    } else {
        program.run_dist(1.0, &operands, 0.0, &mut out).unwrap();
    }
    out.blocks_mut().for_each(|(_, mut block)| change(&mut block));
    let mut check = Check::new(&world, &config).unwrap();
    check.part(&out, &vec![0; output.shape.len()], exponent).unwrap();
    check.report()
}

#[test]
fn a_wrong_element_is_found() {
    assert!(checked(&["mk,kn->mn", "-s30"], 0.0).ok);
    let wrong = checked(&["mk,kn->mn", "-s30"], 0.01);
    assert!(!wrong.ok && wrong.max_error > wrong.bound, "{wrong:?}");
    assert_eq!(wrong.checked, 900);
}

#[test]
fn a_sample_covers_a_large_output() {
    let sample = checked(&["mk,kn->mn", "-s", "m=1024,k=500,n=1024"], 0.0);
    assert!(sample.ok && sample.checked as usize == SAMPLE_ELEMENTS, "{sample:?}");
}

#[test]
fn long_chains_are_followed_along_the_tree() {
    // One sum over all dimensions would have 40^6 products.
    let arguments = ["ab,bc,cd,de,ef,fg,gh->ah", "-s40,a=1,h=1"];
    assert!(checked(&arguments, 0.0).ok);
    assert!(!checked(&arguments, 1e6).ok);
    // This result has too many elements to check all of them.
    let sample = checked(&["ab,bc,cd,de,ef,fg,gh->ah", "-s40,a=3600,h=3600"], 0.0);
    assert!(sample.ok && sample.checked as usize == SAMPLE_ELEMENTS, "{sample:?}");
}

/// Each of the eight tensors has 3 or 4 of the 14 labels. The direct sum has 2 * 10^13 products, and an evaluation
/// along the tree has 2 * 10^7.
#[test]
fn a_network_of_many_labels_takes_no_time() {
    let started = std::time::Instant::now();
    let arguments = ["abc,cdeb,efg,gahi,ijkd,klm,mnfj,nlh->hc", "-s9,b=8,d=8,g=10"];
    let right = checked(&arguments, 0.0);
    assert!(right.ok && right.checked == 81, "{right:?}");
    assert!(!checked(&arguments, 1e8).ok);
    assert!(started.elapsed() < std::time::Duration::from_secs(20), "{:?}", started.elapsed());
}

/// Elements of long trees are tiny compared with the sums of their absolute products, so a loose error bound would
/// accept zeros.
#[test]
fn wrong_results_of_trees_are_found() {
    let labels: Vec<char> = ('a'..='z').chain('A'..='Z').collect();
    let chain = |steps: usize| {
        let terms: Vec<String> = labels[..steps + 2].windows(2).map(|pair| pair.iter().collect()).collect();
        format!("{}->{}{}", terms.join(","), labels[0], labels[steps + 1])
    };
    let network = "abc,cdeb,efg,gahi,ijkd,klm,mnfj,nlh->hc".to_owned();
    for (text, sizes) in [(chain(3), "-s30"), (chain(10), "-s24"), (chain(40), "-s4,b=7"), (network, "-s6")] {
        let arguments = [text.as_str(), sizes];
        let right = changed(&arguments, |_| ());
        assert!(right.ok && right.max_error < 0.3 * right.bound, "{text}: {right:?}");
        assert!(!changed(&arguments, |block| block.fill(0.0)).ok, "{text}: zeros");
        assert!(!changed(&arguments, |block| block.mapv_inplace(|x| -x)).ok, "{text}: the other sign");
        assert!(!changed(&arguments, |block| block.mapv_inplace(|x| 1.5 * x)).ok, "{text}: half as much more");
        let swapped = changed(&arguments, |block| {
            let (one, other) = ([0, 0], [1, 1]);
            let kept = block[one.as_slice()];
            block[one.as_slice()] = block[other.as_slice()];
            block[other.as_slice()] = kept;
        });
        assert!(!swapped.ok, "{text}: two elements exchanged");
    }
}

/// The elements of the last two chains are about 1e325 and 1e-390, beyond double precision.
#[test]
fn wrong_results_with_exponents_are_found() {
    let chain = |steps: u32| {
        let label = |at: u32| char::from_u32(0x4e00 + at).unwrap();
        let terms: Vec<String> = (0..steps).map(|at| format!("{}{}", label(at), label(at + 1))).collect();
        format!("{}->{}{}", terms.join(","), label(0), label(steps))
    };
    for (text, sizes) in [
        ("mk,kn->mn".to_owned(), "-s30"),
        ("abc,cdeb,efg,gahi,ijkd,klm,mnfj,nlh->hc".to_owned(), "-s6"),
        (chain(40), "-s4"),
        (chain(150), "-s64"),
        (chain(900), "-s16"),
        (chain(900), "-s1"),
    ] {
        let arguments = [text.as_str(), sizes, "--exponent", "--path=greedy"];
        let what = text.chars().count();
        let right = changed(&arguments, |_| ());
        assert!(right.ok && right.bound > 0.0, "{what}: {right:?}");
        assert!(!changed(&arguments, |block| block.fill(0.0)).ok, "{what}: zeros");
        assert!(!changed(&arguments, |block| block.mapv_inplace(|x| -x)).ok, "{what}: the other sign");
        assert!(!changed(&arguments, |block| block.mapv_inplace(|x| 1.5 * x)).ok, "{what}: half as much more");
        for exponent in [1, -1, 1000, -1000, 100_000] {
            assert!(!changed_by(&arguments, |_| (), exponent).ok, "{what}: 2^{exponent} times as much");
        }
    }
}

/// The run adds many slices that have only a few terms each. If the error bound grew with the number of slices, the
/// check would accept zeros.
#[test]
fn bounds_of_slices_do_not_let_zeros_pass() {
    for (text, sizes, limit) in [
        ("[a,b->ab],b->a", "-sa=400,b=100000", "--memory-limit=1.7MB"),
        ("[a,b->ab],b->a", "-sa=3,b=100000", "--memory-limit=900kB"),
        ("[a,b->ba],b->a", "-sa=400,b=100000", "--memory-limit=1.7MB"),
    ] {
        let right = changed(&[text, sizes, limit], |_| ());
        assert!(right.ok && right.bound < 1e-3, "{text}: {right:?}");
        assert!(!changed(&[text, sizes, limit], |block| block.fill(0.0)).ok, "{text}: zeros");
    }
}

/// With a low memory limit, the check computes the same reference elements in small pieces.
#[test]
fn little_memory_is_enough() {
    for limit in ["--memory-limit=60kB", "--memory-limit=2MB"] {
        let right = checked(&["mk,kn->mn", "-s40,k=50", limit], 0.0);
        assert!(right.ok && right.checked == 1600, "{limit}: {right:?}");
        assert!(!checked(&["mk,kn->mn", "-s40,k=50", limit], 0.01).ok, "{limit}");
    }
}

#[test]
fn networks_with_few_operations_are_checked_whole() {
    // A direct sum would have more than 2^67 products. Along the tree, this is a chain of small contractions.
    let letters: Vec<char> = ('a'..='z').chain('A'..='Z').collect();
    let terms: Vec<String> = letters.windows(3).map(|window| window.iter().collect()).collect();
    let text = format!("{}->abYZ", terms.join(","));
    let arguments = [text.as_str(), "-s2,a=40,b=30,Y=20,Z=30"];
    let right = checked(&arguments, 0.0);
    assert!(right.ok && right.checked == 40 * 30 * 20 * 30, "{right:?}");
    assert!(!checked(&arguments, 1e6).ok);
}
