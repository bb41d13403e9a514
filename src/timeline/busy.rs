//! How long a rank works, transfers, and does both. Several tasks at a time count once.

/// A rank's busy seconds in a run.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Busy {
    /// Seconds while at least one work task runs.
    pub working: f64,
    /// Seconds while at least one transfer is in flight, including waiting for the other rank after its dependencies
    /// are complete.
    pub transferring: f64,
    /// Seconds while both happen.
    pub hidden: f64,
}

impl Busy {
    /// Computes busy times from the (start, end) pairs of n work tasks and transfers, in any order. Cost: O(n log n).
    pub fn of(work: Vec<(f64, f64)>, transfers: Vec<(f64, f64)>) -> Busy {
        let [work, transfers] = [work, transfers].map(merged);
        // An empty `sum` is -0.0, whose sign would be displayed.
        let added = |sum: f64, more: f64| sum + more;
        let seconds = |spans: &[(f64, f64)]| spans.iter().map(|(start, end)| end - start).fold(0.0, added);
        let hidden = transfers.iter().map(|&(start, end)| {
            let first = work.partition_point(|&(_, over)| over <= start);
            let during = work[first..].iter().take_while(|&&(begins, _)| begins < end);
            during.map(|&(begins, over)| over.min(end) - begins.max(start)).sum::<f64>()
        });
        Busy { working: seconds(&work), transferring: seconds(&transfers), hidden: hidden.fold(0.0, added) }
    }

    /// Adds another run or rank.
    pub fn add(&mut self, more: Busy) {
        self.working += more.working;
        self.transferring += more.transferring;
        self.hidden += more.hidden;
    }

    /// The fraction (0 to 1) of the transfer time during which workers computed, if there are transfers.
    pub fn hidden_share(&self) -> Option<f64> {
        (self.transferring > 0.0).then(|| self.hidden / self.transferring)
    }
}

fn merged(mut spans: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut union: Vec<(f64, f64)> = Vec::new();
    for (start, end) in spans {
        match union.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => union.push((start, end)),
        }
    }
    union
}

#[cfg(test)]
mod tests;
