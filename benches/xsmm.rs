//! Measures the GFLOP/s of the code that LIBXSMM generates, on cached data. This rate is an upper bound for the rate of
//! batches of small products.
//!
//! Command: `cargo bench --features libxsmm --bench xsmm`.
//!
//! Each size runs repeatedly on the same three matrices (L1), and over a batch whose matrices fit into half of a 2 MB
//! cache (L2). The benchmark prints the best rate of several alternating rounds.

use std::time::{Duration, Instant};

// The library's private wrapper around LIBXSMM. It is included by path, because it is not part of the public interface.
#[allow(dead_code, reason = "its tests, which run elsewhere")]
#[path = "../local/src/kernel/xsmm.rs"]
mod xsmm;

use xsmm::{Real, Tile};

/// Total number of bytes of the matrices in a batch.
const BATCH_BYTES: usize = 1 << 20;
const ROUND: Duration = Duration::from_millis(20);
const ROUNDS: usize = 15;

fn main() {
    println!("GFLOP/s      same data      batch    (b with rows contiguous: same data, batch)");
    for side in [8, 16, 32, 64] {
        measure::<f32>("f32", side, 1.0);
        measure::<f64>("f64", side, 1.0);
    }
}

fn measure<R: Real>(name: &str, side: usize, one: R) {
    let mut best = [0f64; 4];
    for _ in 0..ROUNDS {
        for (form, best) in best.iter_mut().enumerate() {
            let batch = if form % 2 == 0 { 1 } else { BATCH_BYTES / (3 * side * side * size_of::<R>()) };
            *best = best.max(rate(side, batch, form >= 2, one));
        }
    }
    let [same, batch, same_t, batch_t] = best;
    println!("{name} {side:2}^3   {same:10.1} {batch:10.1}    ({same_t:.1}, {batch_t:.1})");
}

/// Returns the rate in GFLOP/s of one round, in which all products of a batch are computed repeatedly.
fn rate<R: Real>(side: usize, batch: usize, transpose_b: bool, one: R) -> f64 {
    let tile = Tile::<R>::get([side; 3], [side; 3], transpose_b).expect("code for a small shape");
    let length = side * side;
    let [left, right, mut out] = [(); 3].map(|()| vec![one; length * batch]);
    let (mut products, start) = (0, Instant::now());
    while start.elapsed() < ROUND {
        for _ in 0..(1usize << 20).div_ceil(batch * length * side) {
            for at in (0..batch).map(|i| i * length) {
                // SAFETY: each vector contains `batch` matrices.
                unsafe { tile.call(left.as_ptr().add(at), right.as_ptr().add(at), out.as_mut_ptr().add(at)) };
            }
            products += batch;
        }
    }
    2e-9 * (products * length * side) as f64 / start.elapsed().as_secs_f64()
}
