//! `--explain` and `--simulate`, which describe, verify and simulate the plan without data.

use einsum_dist::machine::{Placement, RankPlacement, Topology, listed};
use einsum_dist::plan::{Classes, MAX_FULL_PROOF_RANKS};
use einsum_dist::schedule::Schedule;
use einsum_dist::schedule::verify::VerifyError;
use einsum_dist::timeline::Timeline;
use einsum_dist::{Error, Plan, World};
use rayon::prelude::*;

use super::config::RunConfig;
use super::print::planned_json;
use super::units::{counted, seconds};
use super::{Result, trace_files};

const MAX_WARNINGS: usize = 8;

pub const NOT_SIMULATED: &str = "not simulated: slicing adds replicas of out, whose transfers have no place in the order that representatives follow";

/// Verifies the plan; returns its description on rank 0's process, and everywhere the error of a trace or timeline
/// file.
///
/// # Errors
/// If the plan does not verify, which is a bug in the engine.
pub fn explain(world: &World, config: &RunConfig) -> Result<(Option<String>, Option<Error>)> {
    let plan = &config.plan;
    let ranks = plan.ranks();
    let json = config.args.json && world.is_root();
    let with_report = |sampled: Vec<Schedule>| {
        let report = json.then(|| {
            let (mut report, kernel) = rayon::join(|| plan.report_with(&sampled), || config.kernel(&sampled));
            kernel.clone_into(&mut report.kernel);
            report
        });
        (report, sampled)
    };
    let ((report, sampled), verified) = if ranks <= MAX_FULL_PROOF_RANKS {
        plan.verify()?;
        let verified =
            format!("every element of the result, every transfer, and the memory of {}", counted(ranks, "rank"));
        (with_report(plan.sampled_schedules()), verified)
    } else {
        let whole = || {
            let sampled = plan.sampled_schedules();
            plan.verify_whole_schedules(&sampled).map(|()| with_report(sampled))
        };
        let (sampled, proved) = rayon::join(whole, || by_classes(plan));
        let sampled = sampled?;
        let Classes { steps, classes, followed } = proved?;
        let followed = followed.min(ranks);
        let verified = format!(
            "by symmetry classes: one rank of each of {classes} classes in {}, given the messages that it receives; up to \
             {followed} of {ranks} ranks were compared",
            counted(steps, "different step"),
        );
        (sampled, verified)
    };
    let wanted = trace_files::wanted(config) || !config.args.json;
    let timeline = (config.args.simulate && wanted && world.is_root()).then(|| config.simulated_timeline()).flatten();
    let trace_error = trace_files::write(world, config, timeline.as_ref())?;
    if !world.is_root() {
        return Ok((None, trace_error));
    }
    if let Some(report) = report {
        return Ok((Some(planned_json(world, config, report)), trace_error));
    }
    let default = if config.default_sizes { "\nextents are the default; --size sets them" } else { "" };
    let kernel = config.kernel(&sampled);
    let simulated = if config.args.simulate { simulated(plan, timeline.as_ref()) } else { String::new() };
    let explained = plan.explain_with(&sampled);
    let placed = plan.machine.placement().map_or(String::new(), |(topology, Placement { places, warnings })| {
        let warnings = warnings.iter().take(MAX_WARNINGS).map(|warning| format!("warning   {warning}\n"));
        where_ranks_are(&topology, &places) + &warnings.collect::<String>()
    });
    let compared = config.one_rank_plan.as_ref().map_or(String::new(), |one| speed_up(plan, one));
    let limit = config.chosen_limit().map_or(String::new(), |limit| format!("limit     {limit}\n"));
    let text = format!(
        "{explained}\n{limit}{placed}{compared}{simulated}kernel    {kernel} on this machine\nverified: {verified}{default}\n"
    );
    Ok((Some(text), trace_error))
}

fn by_classes(plan: &Plan) -> std::result::Result<Classes, VerifyError> {
    let steps = plan.each_step();
    let proved = steps.par_iter().map(|step| {
        let chosen = step.representatives();
        let built = chosen.par_iter().enumerate().map(|(number, &rank)| step.verify_representative(number, rank));
        Ok(Classes { steps: 1, classes: chosen.len(), followed: built.try_reduce(|| 0, |a, b| Ok(a + b))? })
    });
    proved.try_reduce(Classes::default, |a, b| Ok(a.and(b)))
}

/// One line for the host and each of its (first) ranks.
pub fn where_ranks_are(host: &Topology, places: &[RankPlacement]) -> String {
    let heads = std::iter::once("placement ").chain(std::iter::repeat("          "));
    let ranks = heads.zip(listed(places)).map(|(head, line)| format!("{head}{line}\n"));
    format!("topology  {host}\n{}", ranks.collect::<String>())
}

fn speed_up(plan: &Plan, one: &Plan) -> String {
    let times = one.seconds() / plan.seconds().max(f64::MIN_POSITIVE);
    let (workers, took) = (counted(one.machine.workers, "worker"), seconds(one.seconds()));
    format!("speed-up  {times:.2} over one rank with {workers}, which is predicted to take {took}\n")
}

fn simulated(plan: &Plan, timeline: Option<&Timeline>) -> String {
    let Some(timeline) = timeline else {
        return format!("{NOT_SIMULATED}\n");
    };
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    let hidden = timeline
        .hidden_share()
        .map_or(String::new(), |share| format!(", {} of the transfer time hidden", percent(share)));
    let between = plan.seconds_between_groups();
    let predicted = if between > 0.0 { format!(" and {} between groups", seconds(between)) } else { String::new() };
    let seconds = seconds(timeline.seconds * plan.slice_rounds() as f64);
    let shown = match timeline.shown.len() {
        0 => String::new(),
        shown => format!(" by {shown} of {} ranks", plan.ranks()),
    };
    format!(
        "simulated {seconds}{shown}{predicted}, workers busy for {} of this time{hidden}\n",
        percent(timeline.working_share())
    )
}
