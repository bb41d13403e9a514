//! Fuzzes complete command lines, with one argument per line of the input. Plans the run and proves the plan, but reads
//! no operand data.
//!
//! The files that command lines may name are in a folder that this target creates at the start. Extents and numbers of
//! ranks are small, because the time for planning and proving grows with them. The memory limit is larger than in other
//! targets, because plans are far larger than the command lines.
#![no_main]

use std::ffi::OsString;
use std::path::Path;
use std::time::Instant;

use clap::Parser;
use einsum_dist::{Dtype, Machine, World};
use einsum_dist_cli::args::Args;
use einsum_dist_cli::config::RunConfig;
use einsum_dist_cli::start::check_flags;
use einsum_dist_cli::validate::Request;
use einsum_dist_fuzz::{check_beyond, text};
use libfuzzer_sys::fuzz_target;

/// Number of additional bytes that may be in use for a plan and its proof.
const MAX_PLAN_BYTES: usize = 64 << 20;

/// Maximum number of ranks of a plan.
const MAX_RANKS: usize = 6;

/// Maximum number of operands, and maximum number of bytes of an expression. Both limits are small because a search for
/// a contraction order may take far longer than the rest of an execution.
const MAX_OPERANDS: usize = 4;
const EXPRESSION: usize = 100;

fn folder() {
    let folder = std::env::temp_dir().join(format!("einsum-dist-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).and_then(|()| std::env::set_current_dir(&folder)).expect("a folder for files");
    for (name, dtype, shape) in [("a.npy", Dtype::Float32, [2, 3]), ("b.npy", Dtype::Complex128, [3, 4])] {
        einsum_dist::io::npy::create(Path::new(name), dtype, &shape).expect("a file of zeros");
    }
    std::fs::write("m.toml", "ranks = 3\nlink_bandwidth = 1e9\n").expect("a machine");
    std::fs::write("bad.npy", b"\x93NUMPY\x01\x00v").expect("a damaged file");
}

fuzz_target!(init: folder(), |input: &[u8]| check_beyond(input, MAX_PLAN_BYTES, || {
    let text = text(input);
    let arguments = std::iter::once("einsum-dist").chain(text.split('\n')).map(OsString::from);
    let args = match Args::try_parse_from(arguments) {
        Ok(args) => args,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    if small(&args) {
        plan(args);
    }
}));

/// Returns whether the run can be planned quickly and uses only files in the target's folder.
fn small(args: &Args) -> bool {
    let paths = args
        .operands
        .iter()
        .chain([&args.output, &args.accumulate, &args.machine, &args.trace, &args.timeline, &args.csv].into_iter().flatten());
    let outside = |path: &Path| path.as_os_str().as_encoded_bytes().contains(&b'/');
    let expression = args.expression.as_deref().unwrap_or_default();
    let named = expression == "-" || expression.starts_with('@');
    let sizes = args.size.iter().flat_map(|size| size.split(|c: char| !c.is_ascii_digit()));
    !named
        && !paths.clone().any(|path| outside(path))
        && paths.clone().all(|path| path.as_os_str() != "")
        && expression.len() <= EXPRESSION
        && expression.matches(',').count() < MAX_OPERANDS
        && args.ranks.is_none_or(|ranks| ranks.get() <= MAX_RANKS)
        && args.workers.is_none_or(|workers| workers.get() <= 64)
        && args.path_time.is_none_or(|seconds| seconds <= 0.01)
        && sizes.clone().all(|size| size.len() <= 1)
}

fn plan(args: Args) {
    let world = World::single();
    // A cache would write files.
    let args = Args { path_cache: None, ..args };
    if check_flags(&args).is_err() || args.output.is_some() {
        return;
    }
    let expression = args.expression.clone().unwrap_or_default();
    let request = Request::new(&world, &args, &expression, Machine::new(1, 1), (None, 1.0));
    let planned = request.and_then(|mut request| {
        let planned = request.planned(&world, &args, None)?;
        RunConfig::local(&world, args, request, (planned, Instant::now()), None)
    });
    match planned {
        Ok(config) => {
            if config.plan.ranks() <= MAX_RANKS {
                config.plan.verify().unwrap_or_else(|error| panic!("{expression}: {error}"));
                assert!(!config.plan.explain().to_string().is_empty());
            }
        }
        Err(failure) => assert!(failure.code() == 2 && !failure.message().is_empty(), "{}", failure.message()),
    }
}
