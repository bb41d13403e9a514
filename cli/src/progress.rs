//! Shows the progress of a path search and of a run's slices, with the time left.
//!
//! Guarantee: only rank 0 prints, only to a terminal, and not with `--quiet`.

use std::io::IsTerminal;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use einsum_dist::plan::SearchProgress;
use einsum_dist::{Element, Program, World};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::config::RunConfig;

pub fn show<T: Element>(world: &World, config: &RunConfig, program: &mut Program<T>) {
    let slices = config.plan.slice_count() as u64;
    if slices < 2 || !world.is_root() || config.args.quiet || !std::io::stderr().is_terminal() {
        return;
    }
    let bar = ProgressBar::with_draw_target(Some(slices), ProgressDrawTarget::stderr());
    let style = "{bar:40} {human_pos} of {human_len} slices, {elapsed_precise} elapsed, {eta_precise} left";
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

/// Shorter searches show nothing.
const SHOWN_AFTER: Duration = Duration::from_millis(500);

const TICK: Duration = Duration::from_millis(100);

/// Shows the search's progress if it `may`.
pub fn during_search<V>(may: bool, search: impl FnOnce(&dyn Fn(SearchProgress)) -> V) -> V {
    if !may || !std::io::stderr().is_terminal() {
        return search(&|_| ());
    }
    let (sender, receiver) = channel();
    std::thread::scope(|scope| {
        scope.spawn(move || show_search(&receiver));
        // Dropping the sender ends the thread.
        search(&move |progress| {
            // The thread may have ended.
            let _ = sender.send(progress);
        })
    })
}

fn show_search(progress: &Receiver<SearchProgress>) {
    let (started, mut best, mut line) = (Instant::now(), None, None::<ProgressBar>);
    loop {
        match progress.recv_timeout(TICK) {
            Ok(found) => best = Some(found),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        let elapsed = started.elapsed();
        if elapsed >= SHOWN_AFTER {
            let line = line.get_or_insert_with(ProgressBar::new_spinner);
            line.set_message(searched(elapsed.as_secs_f64(), best));
        }
    }
    if let Some(line) = line {
        line.finish_and_clear();
    }
}

fn searched(elapsed: f64, best: Option<SearchProgress>) -> String {
    let Some(best) = best else { return format!("path: {elapsed:.1} s") };
    let [products, largest] = [best.log2_products, best.log2_largest].map(|log2| log2 * std::f64::consts::LOG10_2);
    let seconds = best.seconds;
    // Fits into 80 columns.
    format!(
        "path: {elapsed:.1} of {seconds:.1} s, best 10^{products:.2} multiply-adds, largest 10^{largest:.2} elements"
    )
}

#[cfg(test)]
mod tests;
