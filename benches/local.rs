//! A server that times contractions with this library. `benches/compare.py` alternates between runs of this server and
//! runs of other libraries.
//!
//! `local THREADS` reads one JSON request per line from standard input and answers each with one JSON line. Between
//! requests, the server uses no processor time. A slot is a numbered place for one prepared case. The field `do`
//! selects the kind of request:
//!
//! | `do` | answer |
//! |---|---|
//! | `prepare`: creates the operands, `out` and the plan of a slot | `{"kernel": ..}` |
//! | `run`: runs a slot for the given seconds, at least once | `{"seconds": [one per run]}` |
//! | `sample`: reads elements of `out` at positions that depend on its length only | `{"values": [[re, im], ..]}` |
//! | `drop`: frees a slot | `{}` |
//!
//! A failed request is answered with `{"error": ..}`. Each time covers one run, without planning and without allocating
//! `out` and the workspace. Operands contain reproducible noise. `out` contains NaN before the first run. Tensors start
//! on a cache line, like tensors allocated by the engine or by torch.

#[cfg(feature = "libxsmm")]
mod bare;
#[path = "../tests/common/kernels.rs"]
mod kernels;
mod lines;

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::time::Instant;

use einsum_dist::api::host;
use einsum_dist::dims::Label;
use einsum_dist::exec::ResolvedKernel;
use einsum_dist::kernel::{Workspace, target};
use einsum_dist::local_plan::{KernelFamily, Target};
use einsum_dist::plan::KernelChoice;
use einsum_dist::{Dtype, Element, Machine, PlanOptions, Problem, Program, World};
use einsum_dist_test_tools::pulp;
use kernels::{contract_planned, plan, unary};
use ndarray::{ArrayD, IxDyn};
use num_complex::Complex;
use serde::Deserialize;
use serde_json::{Value, json};

type Failure = Box<dyn std::error::Error>;

#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "lowercase")]
enum Request {
    Prepare { slot: usize, case: Case },
    Run { slot: usize, seconds: f64 },
    Sample { slot: usize, count: usize },
    Drop { slot: usize },
}

#[derive(Deserialize)]
struct Case {
    what: What,
    /// The expression with brackets. Used only by `What::Program`.
    #[serde(default)]
    expression: String,
    /// The labels of each operand (one character each), and the argument of `noise` for its first element. Operands are
    /// in the order of the expression.
    operands: Vec<(String, u32)>,
    out: String,
    extents: BTreeMap<char, usize>,
    dtype: String,
    /// The kernel to force; the library selects one if this is empty.
    #[serde(default)]
    kernel: Option<String>,
}

#[derive(Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "lowercase")]
enum What {
    /// A binary contraction that calls the kernel directly, without the engine.
    Contract,
    /// Any expression, contracted through the public interface.
    Program,
    /// A unary operation: a permutation, a sum or a diagonal.
    Unary,
    /// Reads the operands and writes `out`, each once and in memory order.
    Stream,
    /// LIBXSMM's kernel for `bmk,bkn->bmn`, called directly for each index b.
    Libxsmm,
}

/// A prepared case.
trait Runs {
    fn run(&mut self) -> Result<(), Failure>;

    fn sample(&self, count: usize) -> Vec<[f64; 2]>;

    /// Name of the kernel, or an empty string if the library does not report one.
    fn kernel(&self) -> String;
}

fn main() -> Result<(), Failure> {
    let threads = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(1);
    // This thread becomes a worker of rayon's global pool, as inside `ThreadPool::install`.
    rayon::ThreadPoolBuilder::new().num_threads(threads).use_current_thread().build_global()?;
    separate(threads);
    let mut slots = BTreeMap::new();
    for line in std::io::stdin().lock().lines() {
        let answer = answer(&line?, &mut slots).unwrap_or_else(|error| json!({ "error": error.to_string() }));
        println!("{answer}");
        std::io::stdout().flush()?;
    }
    Ok(())
}

/// As in the program, the workers have cores of their own if there is one for each.
fn separate(threads: usize) {
    let cpus = host::cpus();
    #[cfg(target_os = "linux")]
    if threads > 1 && threads == cpus.len() {
        rayon::broadcast(|worker| {
            let mut own = rustix::thread::CpuSet::new();
            own.set(cpus[worker.index()]);
            rustix::thread::sched_setaffinity(None, &own).expect("a core of this process");
        });
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (threads, cpus);
}

fn answer(line: &str, slots: &mut BTreeMap<usize, Box<dyn Runs>>) -> Result<Value, Failure> {
    let missing = "nothing is prepared in this slot";
    match serde_json::from_str(line)? {
        Request::Prepare { slot, case } => {
            slots.remove(&slot);
            let bare = case.what == What::Libxsmm;
            let prepared = match case.dtype.as_str() {
                "f32" if bare => prepare_bare::<f32>(&case),
                "f64" if bare => prepare_bare::<f64>(&case),
                "f32" => prepare::<f32>(case),
                "f64" => prepare::<f64>(case),
                "c64" => prepare::<Complex<f32>>(case),
                "c128" => prepare::<Complex<f64>>(case),
                other => Err(format!("no type {other}").into()),
            }?;
            let kernel = prepared.kernel();
            slots.insert(slot, prepared);
            Ok(json!({ "kernel": kernel }))
        }
        Request::Run { slot, seconds } => {
            let prepared = slots.get_mut(&slot).ok_or(missing)?;
            let mut times = Vec::new();
            let first = Instant::now();
            while times.is_empty() || first.elapsed().as_secs_f64() < seconds {
                let start = Instant::now();
                prepared.run()?;
                times.push(start.elapsed().as_secs_f64());
            }
            Ok(json!({ "seconds": times }))
        }
        Request::Sample { slot, count } => Ok(json!({ "values": slots.get(&slot).ok_or(missing)?.sample(count) })),
        Request::Drop { slot } => {
            slots.remove(&slot);
            Ok(json!({}))
        }
    }
}

fn prepare<T: Stream>(case: Case) -> Result<Box<dyn Runs>, Failure> {
    match case.what {
        What::Contract => Ok(Box::new(Contraction::<T>::new(&case)?)),
        What::Program => Ok(Box::new(Compiled::<T>::new(&case)?)),
        What::Unary => Ok(Box::new(Unary(Tensors::<T>::new(&case)?))),
        What::Stream => Ok(Box::new(Loop(Tensors::<T>::new(&case)?))),
        What::Libxsmm => Err("LIBXSMM has no complex types".into()),
    }
}

#[cfg(feature = "libxsmm")]
fn prepare_bare<T: Element + bare::Real>(case: &Case) -> Result<Box<dyn Runs>, Failure> {
    let Tensors { operands, out, .. } = Tensors::<T>::new(case)?;
    let operands = operands.try_into().map_err(|_| "a product has two operands")?;
    Ok(Box::new(bare::Bare::new(operands, out).ok_or("LIBXSMM has no code for this")?))
}

#[cfg(not(feature = "libxsmm"))]
fn prepare_bare<T: Element>(_: &Case) -> Result<Box<dyn Runs>, Failure> {
    Err(format!("this build has no LIBXSMM for {}", T::DTYPE.name()).into())
}

#[cfg(feature = "libxsmm")]
impl<T: Element + bare::Real> Runs for bare::Bare<T> {
    fn run(&mut self) -> Result<(), Failure> {
        bare::Bare::run(self);
        Ok(())
    }

    fn sample(&self, count: usize) -> Vec<[f64; 2]> {
        sample(self.out(), count)
    }

    fn kernel(&self) -> String {
        "libxsmm".to_owned()
    }
}

/// Dense tensors, each with its labels in the order of its dimensions.
struct Tensors<T> {
    labels: Vec<Vec<Label>>,
    operands: Vec<ArrayD<T>>,
    out_labels: Vec<Label>,
    out: ArrayD<T>,
}

impl<T: Element> Tensors<T> {
    fn new(case: &Case) -> Result<Self, Failure> {
        let shape = |labels: &str| -> Result<Vec<usize>, Failure> {
            let extent = |c| case.extents.get(&c).copied().ok_or_else(|| format!("no extent of {c}").into());
            labels.chars().map(extent).collect()
        };
        let labels = |text: &str| text.chars().map(|c| Label(c as u32)).collect();
        let mut operands = Vec::new();
        for (text, seed) in &case.operands {
            let shape = shape(text)?;
            let count: usize = shape.iter().product();
            let at = |i: u32, part| noise(i.wrapping_mul(2).wrapping_add(seed + part));
            let values = (0..count as u32).map(|i| T::from_f64(at(i, 0), at(i, 1))).collect();
            operands.push(ArrayD::from_shape_vec(shape, values)?);
        }
        let out = ArrayD::from_elem(IxDyn(&shape(&case.out)?), T::from_f64(f64::NAN, f64::NAN));
        let labels_of = case.operands.iter().map(|(text, _)| labels(text)).collect();
        Ok(Tensors { labels: labels_of, operands, out_labels: labels(&case.out), out })
    }

    fn sample(&self, count: usize) -> Vec<[f64; 2]> {
        sample(&self.out, count)
    }
}

/// Samples elements of a dense array at positions that depend only on its length.
fn sample<T: Element>(array: &ArrayD<T>, count: usize) -> Vec<[f64; 2]> {
    let values = array.as_slice().unwrap_or_default();
    let at =
        |i: usize| (((i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) as u128 * values.len() as u128) >> 64) as usize;
    (0..count).filter_map(|i| values.get(at(i))).map(|x| [x.to_c64().re, x.to_c64().im]).collect()
}

/// A number between -1/2 and 1/2 that every element type represents exactly. `noise` in `peers.py` computes the same
/// numbers.
fn noise(i: u32) -> f64 {
    let mut hash = i.wrapping_mul(0x9E37_79B1);
    hash ^= hash >> 15;
    hash = hash.wrapping_mul(0x85EB_CA6B);
    hash ^= hash >> 13;
    f64::from(hash >> 8) / f64::from(1 << 24) - 0.5
}

struct Contraction<T> {
    tensors: Tensors<T>,
    plan: einsum_dist::local_plan::LocalContract,
    kernel: &'static str,
    workspace: Workspace,
}

impl<T: Element> Contraction<T> {
    fn new(case: &Case) -> Result<Self, Failure> {
        let (resolved_kernel, target) = resolved_kernel::<T>(case)?;
        let tensors = Tensors::new(case)?;
        let ([l, r], [left, right]) = (&tensors.labels[..], &tensors.operands[..]) else {
            return Err("a contraction has two operands".into());
        };
        let out = (&tensors.out_labels[..], &tensors.out.view());
        let plan = plan((l, &left.view()), (r, &right.view()), out, &target);
        let xsmm = plan.kernel().1.family == KernelFamily::Xsmm;
        let kernel = resolved_kernel.name_of(xsmm, !xsmm);
        Ok(Contraction { tensors, plan, kernel, workspace: Workspace::new() })
    }
}

/// The kernel that a case forces, or `auto`.
fn choice(case: &Case) -> Result<KernelChoice, Failure> {
    Ok(case.kernel.as_deref().filter(|name| !name.is_empty()).unwrap_or("auto").parse()?)
}

/// The kernel that a case uses on this machine, and the target for its plan.
fn resolved_kernel<T: Element>(case: &Case) -> Result<(ResolvedKernel, Target), Failure> {
    let resolved_kernel = ResolvedKernel::resolve(choice(case)?, T::DTYPE)?;
    match resolved_kernel {
        ResolvedKernel::Planned { isa, family } => {
            Ok((resolved_kernel, target(isa, family, rayon::current_num_threads())))
        }
        ResolvedKernel::Reference => Err("the reference is not timed".into()),
    }
}

impl<T: Element> Runs for Contraction<T> {
    fn run(&mut self) -> Result<(), Failure> {
        let Tensors { operands, out, .. } = &mut self.tensors;
        let (left, right) = (operands[0].view(), operands[1].view());
        contract_planned(&self.plan, T::ONE, left, right, T::ZERO, out.view_mut(), &mut self.workspace)?;
        Ok(())
    }

    fn sample(&self, count: usize) -> Vec<[f64; 2]> {
        self.tensors.sample(count)
    }

    fn kernel(&self) -> String {
        self.kernel.to_owned()
    }
}

struct Compiled<T: Element> {
    tensors: Tensors<T>,
    program: Program<T>,
}

impl<T: Element> Compiled<T> {
    fn new(case: &Case) -> Result<Self, Failure> {
        let tensors = Tensors::<T>::new(case)?;
        let shapes: Vec<Vec<usize>> = tensors.operands.iter().map(|operand| operand.shape().to_vec()).collect();
        let dtype: Dtype = T::DTYPE;
        let options = PlanOptions::default().dtype(dtype).kernel(choice(case)?);
        let machine = Machine::new(1, rayon::current_num_threads());
        let plan = Problem::parse(&case.expression)?.shapes(&shapes)?.plan(&machine, &options)?;
        Ok(Compiled { tensors, program: World::single().compile(&plan)? })
    }
}

impl<T: Element> Runs for Compiled<T> {
    fn run(&mut self) -> Result<(), Failure> {
        let operands: Vec<&dyn einsum_dist::Operand<T>> =
            self.tensors.operands.iter().map(|operand| operand as &dyn einsum_dist::Operand<T>).collect();
        Ok(self.program.run_into(T::ONE, &operands, T::ZERO, &mut self.tensors.out)?)
    }

    fn sample(&self, count: usize) -> Vec<[f64; 2]> {
        self.tensors.sample(count)
    }

    fn kernel(&self) -> String {
        self.program.kernel().to_owned()
    }
}

struct Unary<T>(Tensors<T>);

impl<T: Element> Runs for Unary<T> {
    fn run(&mut self) -> Result<(), Failure> {
        let Tensors { labels, operands, out_labels, out } = &mut self.0;
        unary((&labels[0], operands[0].view()), (out_labels, out.view_mut()));
        Ok(())
    }

    fn sample(&self, count: usize) -> Vec<[f64; 2]> {
        self.0.sample(count)
    }

    fn kernel(&self) -> String {
        String::new()
    }
}

/// Measures memory bandwidth with a plain loop. If one operand has the length of `out`, it is copied; if two operands
/// have this length, they are multiplied element by element. All other operands are summed. If no operand has the
/// length of `out`, `out` is filled with the sum.
struct Loop<T>(Tensors<T>);

impl<T: Stream> Runs for Loop<T> {
    fn run(&mut self) -> Result<(), Failure> {
        let Tensors { operands, out, .. } = &mut self.0;
        let out = out.as_slice_mut().ok_or("out is dense")?;
        let operands: Vec<&[T]> = operands.iter().filter_map(|operand| operand.as_slice()).collect();
        let (same, others): (Vec<&[T]>, Vec<&[T]>) = operands.into_iter().partition(|x| x.len() == out.len());
        let shares = rayon::current_num_threads();
        rayon::scope(|scope| {
            let mut rest = out;
            for share in 0..shares {
                let range = |count: usize| count * share / shares..count * (share + 1) / shares;
                let whole = same.first().map_or(rest.len() / (shares - share), |x| range(x.len()).len());
                let (part, tail) = std::mem::take(&mut rest).split_at_mut(whole);
                rest = tail;
                let same: Vec<&[T]> = same.iter().map(|x| &x[range(x.len())]).collect();
                let others: Vec<&[T]> = others.iter().map(|x| &x[range(x.len())]).collect();
                scope.spawn(move |_| pulp::Arch::new().dispatch(Share { same, others, part }));
            }
        });
        Ok(())
    }

    fn sample(&self, _count: usize) -> Vec<[f64; 2]> {
        Vec::new()
    }

    fn kernel(&self) -> String {
        String::new()
    }
}

/// The elements of a [`Loop`] that one thread processes.
struct Share<'a, T> {
    same: Vec<&'a [T]>,
    others: Vec<&'a [T]>,
    part: &'a mut [T],
}

impl<T: Stream> pulp::WithSimd for Share<'_, T> {
    type Output = ();

    /// pulp compiles this function, and the code that is inlined into it, for the vector instructions of this machine.
    /// Code in a closure would be compiled without these instructions.
    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Share { same, others, part } = self;
        let mut total = T::ZERO;
        for other in others {
            total += T::sum(other);
        }
        match same[..] {
            [x] => part.copy_from_slice(x),
            [x, y] => {
                for (out, (&x, &y)) in part.iter_mut().zip(x.iter().zip(y)) {
                    *out = x * y;
                }
            }
            _ => part.fill(total),
        }
    }
}

trait Stream: Element {
    /// Sums `values` with enough independent accumulators that only memory limits the speed.
    #[inline(always)]
    fn sum(values: &[Self]) -> Self {
        let mut lanes = [Self::ZERO; 64];
        let chunks = values.chunks_exact(lanes.len());
        let rest = chunks.remainder();
        for chunk in chunks {
            for (lane, &value) in lanes.iter_mut().zip(chunk) {
                *lane += value;
            }
        }
        let mut total = Self::ZERO;
        for &value in lanes.iter().chain(rest) {
            total += value;
        }
        total
    }
}

impl<T: Element> Stream for T {}
