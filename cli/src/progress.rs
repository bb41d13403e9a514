//! Shows a progress bar over the slices of a run, with the time left.
//!
//! Guarantee: only rank 0 prints, only to a terminal, and not with `--quiet`. The bar is removed when the program is
//! dropped, so it is never mixed with messages that are printed after the run.

use std::io::IsTerminal;

use einsum_dist::{Element, Program, World};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::config::RunConfig;

/// Makes a program show its progress. Does nothing if there is a single slice.
pub fn show<T: Element>(world: &World, config: &RunConfig, program: &mut Program<T>) {
    let slices = config.plan.slice_count() as u64;
    if slices < 2 || !world.is_root() || config.quiet || !std::io::stderr().is_terminal() {
        return;
    }
    let bar = ProgressBar::with_draw_target(Some(slices), ProgressDrawTarget::stderr());
    let style = "{bar:40} {human_pos} of {human_len} slices, {elapsed_precise} elapsed, {eta_precise} left";
    // The default style takes effect if this one is wrong.
    bar.set_style(ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()));
    program.on_slice(move |finished, _| {
        let finished = finished as u64;
        // The next timed run starts again, and slices from a checkpoint took no time.
        if finished < bar.position() || bar.position() == 0 {
            bar.set_position(finished);
            bar.reset_eta();
        }
        bar.set_position(finished);
    });
}
