//! Writes the files of `--trace` and `--timeline`, for a run or a simulated plan.
//!
//! Rank 0 writes each file, complete or not at all, and tells all ranks.

use einsum_dist::timeline::Timeline;
use einsum_dist::{Error, World};

use super::Result;
use super::config::RunConfig;
use super::units::{counted, seconds};

const TITLE: usize = 40;

pub fn wanted(config: &RunConfig) -> bool {
    config.args.trace.is_some() || config.args.timeline.is_some()
}

/// Writes the requested files; returns errors as values, because the result must be printed first. Collective.
pub fn write(world: &World, config: &RunConfig, timeline: Option<&Timeline>) -> Result<Option<Error>> {
    // A plan that cannot be simulated has no timeline.
    if !wanted(config) || world.all_gather(&[u8::from(timeline.is_some())])?.first() != Some(&vec![1]) {
        return Ok(None);
    }
    let root = timeline.filter(|_| world.is_root());
    let trace = config.args.trace.as_ref().map(|path| (path, root.map(Timeline::trace)));
    let drawn = config.args.timeline.as_ref().map(|path| (path, root.map(|timeline| picture(config, timeline))));
    for (path, text) in trace.into_iter().chain(drawn) {
        match world.write_text(path, text.as_deref().unwrap_or_default()) {
            Ok(()) => {}
            Err(error @ (Error::File(_) | Error::Elsewhere { .. })) => return Ok(Some(error)),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(None)
}

pub fn title(expression: &str) -> String {
    match expression.char_indices().nth(TITLE) {
        Some((end, _)) => format!("{}...", &expression[..end]),
        None => expression.to_owned(),
    }
}

fn picture(config: &RunConfig, timeline: &Timeline) -> String {
    let plan = &config.plan;
    let slices = match (timeline.slices, plan.slice_rounds()) {
        (_, 1) => String::new(),
        (1, _) => ", one slice".to_owned(),
        (shown, all) if shown == all => format!(", {all} slices"),
        (shown, all) => format!(", the first {shown} of {all} slices"),
    };
    let how = match timeline.hosts.is_empty() {
        true => " simulated".to_owned(),
        false if !config.args.no_overlap && timeline.slices == plan.slice_rounds() => {
            format!(", {} predicted", seconds(plan.seconds()))
        }
        false => String::new(),
    };
    let expression = title(&plan.expression);
    let (ranks, took) = (counted(plan.ranks(), "rank"), seconds(timeline.seconds));
    timeline.svg(&format!("{expression} on {ranks}{slices}: {took}{how}"))
}
