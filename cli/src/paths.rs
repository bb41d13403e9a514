//! Checks a command's paths before the run: each output must be writable, and differ from all other files
//! (`docs/files.md`).

use std::path::Path;

use einsum_dist::io::output::{Identity, display_path, examine, is_leftover, remove_leftovers, would_be_removed};
use einsum_dist::{Error, World};

use super::args::Args;
use super::failure::say;
use super::start::usage;
use super::{Result, signals};

struct Named<'a> {
    flag: String,
    path: &'a Path,
    writes: bool,
}

/// # Errors
/// If a path cannot be a file, an output cannot be written, or an output is another file of the command.
pub fn check(world: &World, args: &Args) -> Result<()> {
    let named = named(args);
    for Named { flag, path, .. } in &named {
        if *path == Path::new("-") {
            let why = match flag.as_str() {
                "--output" => "a result needs a file, as other text goes to standard output",
                "--checkpoint" => "a checkpoint needs a file that can be replaced",
                "--trace" | "--timeline" | "--path-out" | "--csv" => {
                    "it needs a file, as other text goes to standard output"
                }
                _ => "it is read from a file, not from standard input",
            };
            return Err(usage(format!("{flag} -: {why}; a file that has this name is ./-")));
        }
    }
    // The directory of the trace and timeline may not exist on other hosts.
    for (_, path) in written(args).into_iter().filter(|(flag, _)| *flag == "--output" || world.is_root()) {
        examine(path).map_err(Error::from)?;
    }
    different(&named)?;
    if world.is_root() { none_is_temporary(&named) } else { Ok(()) }
}

/// On rank 0, starts the outputs' guard, removes killed runs' temporary files, and warns of leftovers or a change of
/// owner.
pub fn tidy(world: &World, args: &Args) {
    if !world.is_root() {
        return;
    }
    let written = written(args);
    signals::start_guard(world, written.iter().map(|(_, path)| *path));
    for (flag, path) in written {
        let owner = examine(path).ok().and_then(|examined| examined.loses_owner);
        if let (Some((user, group)), false) = (owner, args.quiet) {
            let name = display_path(path);
            say!("warning: {flag} {name} belongs to user {user}, group {group}; the new file cannot be given to them");
        }
        let stay = remove_leftovers(path);
        if stay.is_empty() || args.quiet {
            continue;
        }
        let each = stay.iter().map(|leftover| match leftover.alive {
            true => format!("{}, which another run writes", display_path(&leftover.path)),
            false => format!("{}, of a run that may have ended", display_path(&leftover.path)),
        });
        let each: Vec<String> = each.collect();
        say!("warning: {flag} {} has temporary files: {}", display_path(path), each.join("; "));
    }
}

fn outputs(args: &Args) -> [(&'static str, Option<&Path>); 6] {
    [
        ("--output", args.output.as_deref()),
        ("--checkpoint", args.checkpoint.as_deref()),
        ("--trace", args.trace.as_deref()),
        ("--timeline", args.timeline.as_deref()),
        ("--path-out", args.path_out.as_deref()),
        ("--csv", args.csv.as_deref()),
    ]
}

fn written(args: &Args) -> Vec<(&'static str, &Path)> {
    let writes = |flag| match flag {
        "--output" => !args.explain,
        "--checkpoint" => !args.explain && !args.simulate,
        _ => true,
    };
    outputs(args).into_iter().filter_map(|(flag, path)| Some((flag, path?))).filter(|(flag, _)| writes(*flag)).collect()
}

fn named(args: &Args) -> Vec<Named<'_>> {
    let texts = [args.expression.as_deref(), Some(args.path.as_str())];
    let [expression, path] = texts.map(|text| text?.strip_prefix('@').map(Path::new));
    let read = [
        ("--accumulate", args.accumulate.as_deref()),
        ("--machine", args.machine.as_deref()),
        ("the expression's", expression),
        ("--path", path),
    ];
    let flags = outputs(args).map(|flag| (flag, true)).into_iter().chain(read.map(|flag| (flag, false)));
    let flags = flags.filter_map(|((flag, path), writes)| Some(Named { flag: flag.to_owned(), path: path?, writes }));
    let operands = args.operands.iter().enumerate();
    flags.chain(operands.map(|(n, path)| Named { flag: format!("operand {n}"), path, writes: false })).collect()
}

fn streams() -> [(&'static str, Option<Identity>); 3] {
    [
        ("standard output", Identity::of_open(std::io::stdout())),
        ("standard error", Identity::of_open(std::io::stderr())),
        ("standard input", Identity::of_open(std::io::stdin())),
    ]
}

fn none_is_temporary(named: &[Named<'_>]) -> Result<()> {
    for output in named.iter().filter(|named| named.writes) {
        let path = named.iter().find(|named| would_be_removed(output.path, named.path));
        let path = path.map(|named| format!("{} {}", named.flag, display_path(named.path)));
        let removed =
            |(_, file): &(_, Option<Identity>)| file.as_ref().is_some_and(|file| is_leftover(output.path, file));
        let stream = || streams().into_iter().find(removed).map(|(stream, _)| format!("the file of {stream}"));
        if let Some(name) = path.or_else(stream) {
            return Err(usage(format!(
                "{name} would be removed, as it has the name of a temporary file of {} {}; rename it",
                output.flag,
                display_path(output.path)
            )));
        }
    }
    Ok(())
}

fn different(named: &[Named<'_>]) -> Result<()> {
    let files: Vec<(&Named<'_>, Identity)> =
        named.iter().filter_map(|named| Some((named, Identity::of(named.path)?))).collect();
    let streams = streams();
    for (at, (one, file)) in files.iter().enumerate().filter(|(_, (one, _))| one.writes) {
        let path = display_path(one.path);
        if let Some((stream, _)) = streams.iter().find(|(_, stream)| stream.as_ref() == Some(file)) {
            return Err(usage(format!(
                "{} {path} is the file of {stream}, which it would replace; name another file",
                one.flag
            )));
        }
        let same = files[at + 1..].iter().find(|(other, theirs)| {
            let adds_to_output = one.flag == "--output" && other.flag == "--accumulate";
            theirs == file && !adds_to_output
        });
        if let Some((other, _)) = same {
            return Err(usage(format!(
                "{} {path} and {} {} are the same file, which {} would replace; name another file",
                one.flag,
                other.flag,
                display_path(other.path),
                one.flag
            )));
        }
    }
    Ok(())
}
