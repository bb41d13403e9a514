//! Tests that random operands are the same for every division into blocks, and can be reproduced from the documentation
//! alone.

use einsum_dist::dtype::Dtype;
use einsum_dist::io::random::{fill_block, value};
use std::ops::Range;

const ALL: [Dtype; 4] = [Dtype::Float32, Dtype::Float64, Dtype::Complex64, Dtype::Complex128];

fn fill(dtype: Dtype, shape: &[usize], ranges: &[Range<usize>]) -> Vec<u8> {
    let mut bytes = vec![0; ranges.iter().map(Range::len).product::<usize>() * dtype.size()];
    fill_block(dtype, 7, 2, shape, ranges, &mut bytes);
    bytes
}

/// The bytes of an element, computed as the module's documentation describes.
fn described(dtype: Dtype, index: u64) -> Vec<u8> {
    let (re, im) = value(7, 2, index);
    let single = |x: f64| (((x + 1.0) * 8_388_608.0).floor() / 8_388_608.0 - 1.0) as f32;
    match dtype {
        Dtype::Float32 => single(re).to_le_bytes().to_vec(),
        Dtype::Float64 => re.to_le_bytes().to_vec(),
        Dtype::Complex64 => [single(re).to_le_bytes(), single(im).to_le_bytes()].concat(),
        Dtype::Complex128 => [re.to_le_bytes(), im.to_le_bytes()].concat(),
    }
}

#[test]
fn a_block_holds_the_elements_of_the_whole() {
    let shape = [5, 1, 7, 3];
    let ranges = [1..4, 0..1, 2..7, 1..2];
    for dtype in ALL {
        let mut want = Vec::new();
        for a in ranges[0].clone() {
            for c in ranges[2].clone() {
                want.extend(described(dtype, (a * 21 + c * 3 + 1) as u64));
            }
        }
        assert_eq!(fill(dtype, &shape, &ranges), want, "{dtype}");
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    let shape = [300, 1000];
    for dtype in ALL {
        let whole = fill(dtype, &shape, &[0..300, 0..1000]);
        let rows: Vec<u8> = (0..300).flat_map(|row| fill(dtype, &shape, &[row..row + 1, 0..1000])).collect();
        assert_eq!(whole, rows, "{dtype}");
        assert_eq!(whole[dtype.size() * 299_999..], described(dtype, 299_999), "{dtype}");
    }
}

#[test]
fn positions_beyond_32_bits() {
    let shape = [1 << 20, 1 << 20];
    let last = (1 << 20) - 1;
    assert_eq!(
        fill(Dtype::Float64, &shape, &[last..last + 1, last..last + 1]),
        described(Dtype::Float64, (1 << 40) - 1)
    );
}

#[test]
fn no_elements_and_no_dimensions() {
    assert!(fill(Dtype::Float32, &[0, 3], &[0..0, 0..3]).is_empty());
    assert!(fill(Dtype::Float32, &[4, 3], &[2..2, 0..3]).is_empty());
    assert_eq!(fill(Dtype::Complex128, &[], &[]), described(Dtype::Complex128, 0));
}

/// The values are from an independent implementation of the documentation. Changing the generator would change all
/// results that users have recorded.
#[test]
fn golden_values() {
    for ((seed, operand, index), want) in [
        ((0, 0, 0), (-0.201907058302071, 0.4714255689668849)),
        ((42, 1, 5000000000), (0.7134663506207402, 0.22882178834070532)),
        ((9223372036854775813, 3, 7), (-0.2807007422313035, 0.7833776190080066)),
    ] {
        assert_eq!(value(seed, operand, index), want);
    }
}

#[test]
fn uniform_in_the_half_open_interval() {
    let n = 100_000;
    let (mut sum, mut squares, mut product) = (0.0, 0.0, 0.0);
    for i in 0..n {
        let (re, im) = value(1, 0, i);
        assert!((-1.0..1.0).contains(&re) && (-1.0..1.0).contains(&im));
        sum += re + im;
        squares += re * re + im * im;
        product += re * im;
    }
    let n = n as f64;
    assert!((sum / (2.0 * n)).abs() < 0.01);
    assert!((squares / (2.0 * n) - 1.0 / 3.0).abs() < 0.01);
    assert!((product / n).abs() < 0.01);
}
