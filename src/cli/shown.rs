//! The files that show a run, or a plan that was played: `--trace` and `--timeline`.
//!
//! Invariants: rank 0 writes them, and all ranks know how that went; a file appears whole or not at all.

use std::path::Path;

use einsum_dist::io::npy::NpyError;
use einsum_dist::timeline::Timeline;
use einsum_dist::{Error, World};

use super::Result;
use super::config::RunConfig;
use super::units::{counted, seconds};

/// Characters of an expression that the title of a picture has.
const TITLE: usize = 40;

/// Whether there is anything to write.
pub fn wanted(config: &RunConfig) -> bool {
    config.trace.is_some() || config.timeline.is_some()
}

/// Writes what the flags ask for, if there is a timeline; what failed, as there is a result to print first. Collective.
///
/// # Errors
/// MPI fails.
pub fn write(world: &World, config: &RunConfig, timeline: Option<&Timeline>) -> Result<Option<Error>> {
    let write = |timeline: &Timeline| {
        config.trace.as_ref().map_or(Ok(()), |path| replace(path, &timeline.trace()))?;
        config.timeline.as_ref().map_or(Ok(()), |path| replace(path, &picture(config, timeline)))
    };
    match world.agree(timeline.filter(|_| world.is_root()).map_or(Ok(()), write)) {
        Ok(()) => Ok(None),
        Err(error @ (Error::Npy(_) | Error::Elsewhere { .. })) => Ok(Some(error)),
        Err(error) => Err(error.into()),
    }
}

fn picture(config: &RunConfig, timeline: &Timeline) -> String {
    let plan = &config.plan;
    let slices = match (timeline.slices, plan.slice_count()) {
        (_, 1) => String::new(),
        (1, _) => ", one slice".to_owned(),
        (shown, all) if shown == all => format!(", {all} slices"),
        (shown, all) => format!(", the first {shown} of {all} slices"),
    };
    let expression = match plan.expression.char_indices().nth(TITLE) {
        Some((end, _)) => format!("{}...", &plan.expression[..end]),
        None => plan.expression.clone(),
    };
    let how = match timeline.hosts.is_empty() {
        true => " simulated".to_owned(),
        false if config.overlap && timeline.slices == plan.slice_count() => {
            format!(", {} predicted", seconds(plan.seconds()))
        }
        false => String::new(),
    };
    let (ranks, took) = (counted(plan.ranks(), "rank"), seconds(timeline.seconds));
    timeline.svg(&format!("{expression} on {ranks}{slices}: {took}{how}"))
}

/// Writes beside the file, and then in its place.
fn replace(path: &Path, text: &str) -> std::result::Result<(), Error> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}", std::process::id()));
    let written = std::fs::write(&beside, text).and_then(|()| std::fs::rename(&beside, path));
    written.map_err(|cause| {
        // Of no use to anybody; what failed before is what to tell.
        let _ = std::fs::remove_file(&beside);
        NpyError::Io { path: path.to_path_buf(), action: "write", cause }.into()
    })
}
