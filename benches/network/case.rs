//! What is multiplied on the hosts, and how large: computing and transfers take about equally long.

use einsum_dist::plan::{AlgorithmName, FixedDistributions};
use einsum_dist::{Dtype, Machine, Plan, PlanOptions};

use super::product::{Product, planned, received};
use super::rank::{Settings, Worlds};

/// An algorithm, and which extents grow until computing takes as long as transfers: m, n or k.
pub struct Case {
    pub algorithm: AlgorithmName,
    /// The dimension that it has to cut, or the one that takes the fewest bytes would be.
    cut: Option<&'static str>,
    /// Dimensions that left, right and out are cut along, for programs that use these distributions.
    distributions: Option<[&'static str; 3]>,
    grows: [bool; 3],
}

/// Of the rings and slicing the matrix that travels keeps its size, and the third extent says what computing takes.
/// Where the planner is free, as for grids, it has the smallest travel, so all extents grow.
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

/// Extents are multiples of it.
const EXTENT_MULTIPLE: f64 = 16.0;

/// Measurements until extents fit, at most, and how well they do then.
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

    /// The extents of m, n and k, and the plan for a machine of the rates that were measured with them. Collective.
    pub fn balanced(&self, worlds: &Worlds, settings: &Settings) -> ([usize; 3], Plan) {
        let ranks = worlds.work.ranks();
        let options = self.options(ranks);
        // Transfers behind computing are what is asked for: plans are for links that take no processor.
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
            // f64 runs at half of what the rate says.
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
