//! Defines the algorithms to measure, and fits the sizes of their matrices so that computing and transfers take about
//! equally long.

use einsum_dist::plan::{AlgorithmName, FixedDistributions};
use einsum_dist::{Dtype, Machine, Plan, PlanOptions};

use super::product::{Product, planned, received};
use super::rank::{Settings, Worlds};

/// An algorithm to measure.
pub struct Case {
    pub algorithm: AlgorithmName,
    /// The dimension that the algorithm must cut. If this is `None`, the planner cuts the dimension that requires the
    /// fewest transferred bytes.
    cut: Option<&'static str>,
    /// The dimensions along which `left`, `right` and `out` are cut, for algorithms with fixed distributions.
    distributions: Option<[&'static str; 3]>,
    /// Which of m, n and k are scaled until computing takes about as long as the transfers.
    grows: [bool; 3],
}

/// In the rings and in slicing, only one matrix is transferred. Its size is fixed, and the extent that it does not have
/// determines the computing time. In grids, the planner transfers the smallest matrices, so all extents grow.
pub const CASES: [Case; 4] = [
    Case { algorithm: AlgorithmName::RingMn, cut: Some("m"), distributions: None, grows: [true, false, false] },
    Case { algorithm: AlgorithmName::RingK, cut: Some("k"), distributions: None, grows: [false, false, true] },
    Case {
        algorithm: AlgorithmName::Slicing,
        cut: None,
        distributions: Some(["m", "k", "m"]),
        grows: [true, false, false],
    },
    Case { algorithm: AlgorithmName::Grid, cut: None, distributions: None, grows: [true; 3] },
];

/// Extents are multiples of this number.
const EXTENT_MULTIPLE: f64 = 16.0;

/// Maximum number of measurements while extents are fitted, and the maximum ratio of computing to transfer time, or
/// vice versa, after fitting.
const MAX_MEASUREMENTS: usize = 4;
const MAX_IMBALANCE: f64 = 1.05;

impl Case {
    fn options(&self, ranks: usize) -> PlanOptions {
        let distributions = |distributions: [&str; 3]| {
            let text = distributions.map(|dimension| format!("{dimension}:{ranks}")).join(";");
            FixedDistributions::parse(&text, &[&["m", "k"], &["k", "n"], &["m", "n"]])
                .expect("distributions of matrices")
        };
        PlanOptions::default()
            .dtype(Dtype::Float64)
            .algorithm(self.algorithm)
            .cut(self.cut.into_iter().map(str::to_owned).collect())
            .fixed(self.distributions.map(distributions).unwrap_or_default())
    }

    /// Returns the extents of m, n and k, and the plan for a machine with the rates measured at these extents.
    /// Collective.
    pub fn balanced(&self, worlds: &Worlds, settings: &Settings) -> ([usize; 3], Plan) {
        let ranks = worlds.work.ranks();
        let options = self.options(ranks);
        // The benchmark measures how transfers overlap with computing, so the plan must assume that transfers do not
        // slow down computing.
        let mut machine = Machine { interference: 0.0, link_bandwidth: settings.link, ..Machine::new(ranks, 1) };
        let mut growing = settings.growing;
        for _ in 0..MAX_MEASUREMENTS {
            let extents = self.grows.map(|grows| if grows { growing } else { settings.extent });
            let plan = planned(&machine, extents, &options);
            let seconds = [&worlds.work, &worlds.transfers].map(|world| {
                let mut product = Product::<f64>::new(world, &plan);
                (0..2).map(|_| product.run()).fold(f64::INFINITY, f64::min)
            });
            let [compute, transfer] = seconds;
            machine.flops = 2.0 * extents.iter().product::<usize>() as f64 / (ranks as f64 * compute);
            // `Machine::flops` is the rate for f32. The rate for f64 is half of it.
            machine.flops *= 2.0;
            machine.link_bandwidth = received(&plan) / transfer;
            if compute.max(transfer) < MAX_IMBALANCE * compute.min(transfer) {
                break;
            }
            growing =
                ((growing as f64 * transfer / compute / EXTENT_MULTIPLE).round().max(1.0) * EXTENT_MULTIPLE) as usize;
        }
        let extents = self.grows.map(|grows| if grows { growing } else { settings.extent });
        (extents, planned(&machine, extents, &options))
    }
}
