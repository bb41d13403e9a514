//! Computes attention as two contractions with a softmax between them. The keys and values are strided views of one
//! array.
//!
//! `cargo run --release --example 06_attention`

mod numpy;

use einsum_dist::error_bound;
use einsum_dist::ndarray::{Array4, ArrayViewMut4, Axis, Ix4, s, stack};
use einsum_dist::{Dtype, Machine, PlanOptions, Problem, World, einsum};

const SCORES: &str = "bqhd,bkhd->bhqk";
const VALUES: &str = "bhqk,bkhd->bqhd";

/// Number of queries per chunk. Only the scores for one chunk are in memory at a time.
const CHUNK: usize = 16;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let array = |name| -> Result<Array4<f32>, Failure> { Ok(numpy::array(name)?.into_dimensionality::<Ix4>()?) };
    let (queries, keys, values) = (array("query")?, array("key")?, array("value")?);
    // Models store each key next to its value in a cache. Both operands are views of the cache, which is not copied.
    let cache = stack(Axis(2), &[keys.view(), values.view()])?;
    let (keys, values) = (cache.index_axis(Axis(2), 0), cache.index_axis(Axis(2), 1));
    let (batches, all, heads, depth) = queries.dim();
    let scale = 1.0 / (depth as f32).sqrt();
    let (want, magnitude, bound) = expected(&queries.mapv(f64::from), &keys.mapv(f64::from), &values.mapv(f64::from))?;

    println!("{SCORES}, softmax, {VALUES}: {all} queries in chunks of {CHUNK}\n");
    for ranks in [1, 2, 4] {
        let world = if ranks == 1 { World::single() } else { World::in_process(ranks) };
        let machine = Machine::new(ranks, 1);
        let plan = |text: &str, shapes: [&[usize]; 2]| {
            Problem::parse(text)?.shapes(&shapes.map(<[usize]>::to_vec))?.plan(&machine, &PlanOptions::default())
        };
        let mut scores = Array4::<f32>::zeros((batches, heads, CHUNK, keys.dim().1));
        let score = plan(SCORES, [&[batches, CHUNK, heads, depth], keys.shape()])?;
        let attend = plan(VALUES, [scores.shape(), values.shape()])?;
        // The programs are compiled once and used for all chunks.
        let (mut score_program, mut attend_program) = (world.compile::<f32>(&score)?, world.compile::<f32>(&attend)?);
        let mut attended = Array4::<f32>::zeros(queries.dim());
        for start in (0..all).step_by(CHUNK) {
            let chunk = s![.., start..start + CHUNK, .., ..];
            // scores = scale (queries keys), overwriting the previous scores.
            score_program.run_into(scale, &[&queries.slice(chunk), &keys], 0.0, &mut scores)?;
            softmax(scores.view_mut());
            // The output is a view of this chunk of the result.
            attend_program.run_into(1.0, &[&scores, &values], 0.0, &mut attended.slice_mut(chunk))?;
        }
        let error = numpy::error(&attended, &want, &magnitude);
        assert!(error <= bound, "{ranks} ranks: error {error:e}, bound {bound:e}");
        let rank = if ranks == 1 { "rank, " } else { "ranks," };
        println!(
            "{ranks} {rank} scores distributed as {:<6}  error {error:.1e}, bound {bound:.1e}",
            score.placement(score.output())
        );
    }
    Ok(())
}

/// Turns scores into nonnegative weights that sum to 1 along the last dimension.
fn softmax(mut scores: ArrayViewMut4<f32>) {
    for mut row in scores.rows_mut() {
        let most = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        row.mapv_inplace(|score| (score - most).exp());
        let sum = row.sum();
        row.mapv_inplace(|weight| weight / sum);
    }
}

/// Returns NumPy's result, the magnitude of each element, and the bound on errors relative to this magnitude. The
/// magnitude of an element is the sum of |weight * value| over all keys.
fn expected(
    queries: &Array4<f64>,
    keys: &Array4<f64>,
    values: &Array4<f64>,
) -> Result<(Array4<f64>, Array4<f64>, f64), Failure> {
    let want = numpy::array::<f64>("attention_result")?.into_dimensionality::<Ix4>()?;
    let weights = numpy::array::<f64>("attention_weights")?;
    let magnitude = einsum(VALUES, &[&weights, &values.mapv(f64::abs)])?.into_dimensionality::<Ix4>()?;
    // `score` bounds the absolute error of a score after the largest score has been subtracted, which rounds once more.
    // The exponential turns this absolute error into a relative error. The exponential, the sum and the division then
    // add their own rounding errors.
    let depth = keys.dim().3;
    let products = einsum(SCORES, &[&queries.mapv(f64::abs), &keys.mapv(f64::abs)])?;
    let largest = products.iter().copied().fold(0.0, f64::max) / (depth as f64).sqrt();
    let once = error_bound(Dtype::Float32, 1, 0);
    let score = error_bound(Dtype::Float32, depth as u64, 3) * largest + once * 2.0 * largest;
    let terms = keys.dim().1 as u64;
    let weight = (2.0 * score).exp_m1() + error_bound(Dtype::Float32, terms, 5);
    Ok((want, magnitude, weight + error_bound(Dtype::Float32, terms, 2)))
}
