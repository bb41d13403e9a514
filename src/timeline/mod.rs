//! Which rank did what when: of a run that was played without data ([`Plan::simulate`](crate::Plan::simulate)).
//!
//! | what | where |
//! |---|---|
//! | the picture | `svg` |
//!
//! Invariant: the spans of one lane of one rank begin one after the other; the latency of one may pass beside the next.

mod svg;

use crate::schedule::{Action, Lane, Work};

/// What a rank does during a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Doing {
    /// Workers contract two blocks.
    Contract,
    /// Workers add, permute, copy, zero or scale blocks.
    Arrange,
    /// A block goes to this rank.
    Send(usize),
    /// A block comes from this rank.
    Recv(usize),
}

impl Doing {
    /// What a task is for a rank.
    pub fn of(action: &Action) -> Doing {
        match action {
            Action::Work(work) if matches!(**work, Work::Contract { .. }) => Doing::Contract,
            Action::Work(_) => Doing::Arrange,
            &Action::Send { peer, .. } => Doing::Send(peer),
            &Action::Recv { peer, .. } => Doing::Recv(peer),
        }
    }

    /// The lane that it keeps busy.
    pub fn lane(self) -> Lane {
        match self {
            Doing::Contract | Doing::Arrange => Lane::Work,
            Doing::Send(_) => Lane::Send,
            Doing::Recv(_) => Lane::Recv,
        }
    }
}

/// One task on its lane.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// Whose.
    pub rank: usize,
    /// What.
    pub doing: Doing,
    /// The value of the plan that it serves.
    pub node: usize,
    /// Seconds from the beginning of the run.
    pub start: f64,
    /// Seconds from the beginning of the run.
    pub end: f64,
}

/// A run, rank by rank: of a plan in slices, one slice.
///
/// ```
/// use einsum_dist::plan::AlgorithmName;
/// use einsum_dist::{Machine, Options, Problem};
/// let shaped = Problem::parse("mk,kn->mn")?.shapes(&[vec![800, 600], vec![600, 700]])?;
/// let options = Options { algorithm: Some(AlgorithmName::RingMn), ..Options::default() };
/// let alone = shaped.plan(&Machine::new(1, 1), &options)?.simulate().unwrap();
/// let four = shaped.plan(&Machine::new(4, 1), &options)?.simulate().unwrap();
/// assert!(four.seconds < alone.seconds / 2.0 && four.seconds > alone.seconds / 4.0);
/// // All receive while they compute, but for what nothing hides.
/// assert!(four.hidden_share().unwrap() > 0.5);
/// assert!(four.svg("a ring of four").starts_with("<svg"));
/// # Ok::<(), einsum_dist::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    /// From the beginning of the run to the end of the last task.
    pub seconds: f64,
    /// How many ranks there are.
    pub ranks: usize,
    /// All tasks of all ranks, those of a lane in order.
    pub spans: Vec<Span>,
}

impl Timeline {
    /// Seconds that a rank's lane was busy.
    pub fn busy(&self, rank: usize, lane: Lane) -> f64 {
        let of = self.spans.iter().filter(|span| span.rank == rank && span.doing.lane() == lane);
        of.map(|span| span.end - span.start).sum()
    }

    /// The share of the time that workers of an average rank compute.
    pub fn working_share(&self) -> f64 {
        let busy: f64 = self.working().map(|span| span.end - span.start).sum();
        if self.seconds > 0.0 { busy / (self.seconds * self.ranks as f64) } else { 1.0 }
    }

    /// The share of the time of receiving during which the same rank computed; `None` where nothing is received.
    pub fn hidden_share(&self) -> Option<f64> {
        let mut all = 0.0;
        let mut hidden = 0.0;
        let mut work: Vec<Vec<(f64, f64)>> = vec![Vec::new(); self.ranks];
        for span in self.working() {
            work[span.rank].push((span.start, span.end));
        }
        for span in self.spans.iter().filter(|span| span.doing.lane() == Lane::Recv) {
            all += span.end - span.start;
            // Of a lane in order.
            let first = work[span.rank].partition_point(|&(_, end)| end <= span.start);
            let during = work[span.rank][first..].iter().take_while(|&&(start, _)| start < span.end);
            hidden += during.map(|&(start, end)| end.min(span.end) - start.max(span.start)).sum::<f64>();
        }
        (all > 0.0).then(|| hidden / all)
    }

    fn working(&self) -> impl Iterator<Item = &Span> {
        self.spans.iter().filter(|span| span.doing.lane() == Lane::Work)
    }
}
