//! Counts the code paths that contractions take, so that a test can require all of them.

use std::collections::BTreeMap;

use einsum_dist::local_plan::{Access, Axis, Body, GemmPlan, LocalContract, Nest, OutAccess, PackBy};

/// Maps the name of a code path to the number of times that it was taken.
#[derive(Debug, Default)]
pub struct Coverage(BTreeMap<String, usize>);

impl Coverage {
    pub fn count(&mut self, way: impl Into<String>) {
        *self.0.entry(way.into()).or_insert(0) += 1;
    }

    pub fn of(&self, way: &str) -> usize {
        self.0.get(way).copied().unwrap_or(0)
    }

    /// Counts the code paths that a plan takes with the named kernel.
    pub fn record(&mut self, kernel: &str, planned: &LocalContract) {
        match planned.body() {
            Body::Nothing => self.count("nothing"),
            Body::Scale => self.count("scale"),
            Body::Loops(plan) => {
                self.count(format!("{kernel}: loops"));
                if plan.shares.len() > 1 {
                    self.count("loops on threads");
                }
                if plan.partials.is_some() {
                    self.count("loops that split the sum");
                }
                for share in &plan.shares {
                    self.count(match share.nest {
                        Nest::Line(_) => "loops along out",
                        Nest::Dots(_) => "loops along the sum",
                        Nest::Strided(_) => "loops with any steps",
                    });
                }
            }
            Body::Staged(plan) => {
                self.count(format!("{kernel}: loops over copied blocks"));
                if let Some(windows) = &plan.windows {
                    self.count(if windows.constants.is_empty() { "windows of two" } else { "windows of one" });
                    if windows.segment > 1 {
                        let [first, second] = windows.plain.map(|plain| if plain { "plain" } else { "picked" });
                        let second = if windows.constants.is_empty() { second } else { "constant" };
                        self.count(format!("segments: {first}, {second}"));
                    }
                }
                self.count(if plan.totals { "copied blocks of a sum" } else { "copied blocks" });
                if plan.shares() > 1 {
                    self.count("copied blocks on threads");
                }
            }
            Body::Gemm(plan) => self.gemm(kernel, plan),
            Body::Products(_) => self.count(format!("{kernel}: small products")),
        }
    }

    fn gemm(&mut self, kernel: &str, plan: &GemmPlan) {
        let [left, right] = plan.access.map(access);
        let out = if plan.out == OutAccess::Direct { "direct" } else { "buffered" };
        for way in [format!("rows {left}"), format!("columns {right}"), format!("out {out}")] {
            self.count(format!("{kernel}: {way}"));
            self.count(way);
        }
        self.count(format!("rows {left}, columns {right}, out {out}"));
        self.count(format!("{kernel}: tile {} x {}", plan.panel_rows(), plan.columns));
        self.count(if plan.swapped { "swapped" } else { "not swapped" });
        let mut note = |way: &str, taken: bool| {
            if taken {
                self.count(way);
            }
        };
        let (slab, size) = (plan.slab.dim.extent, plan.slab.size);
        note("batches", !plan.batch.is_empty());
        note("slabs of several", size > 1);
        note("slabs of several, the last shorter", size > 1 && slab > size && slab % size > 0);
        note("columns inside", plan.columns_inside);
        let shorter = |axis: &Axis| axis.tables().len() > 1;
        let uneven = |axis: &Axis| axis.tables().iter().any(|table| table.run < table.len());
        for (axis, what) in [(&plan.rows, "rows"), (&plan.cols, "columns"), (&plan.depth, "depth")] {
            note(&format!("boxes of {what}"), axis.boxes() > 1);
            note(&format!("boxes of {what}, the last shorter"), axis.boxes() > 1 && shorter(axis));
            note(&format!("boxes of {what} that end in two dimensions"), axis.tables().len() > 2);
            note(&format!("boxes of {what}, out {out}"), axis.boxes() > 1);
            note(&format!("panels of {what} end with runs"), uneven(axis));
        }
        let all = [&plan.rows, &plan.cols, &plan.depth].iter().all(|axis| axis.boxes() > 1);
        note("boxes of rows, columns and depth", all);
        for (parts, what) in plan.grid.parts.into_iter().zip(["batches", "rows", "columns", "depth"]) {
            note(&format!("grid along {what}"), parts > 1);
        }
    }

    /// # Panics
    /// If a path was taken fewer than `least` times.
    pub fn demand(&self, paths: &[&str], least: usize) {
        let rare: Vec<_> =
            paths.iter().filter(|path| self.of(path) < least).map(|path| (path, self.of(path))).collect();
        assert!(rare.is_empty(), "not covered {least} times: {rare:?}\nof: {self}");
    }
}

impl std::fmt::Display for Coverage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|(way, count)| writeln!(f, "{count:7}  {way}"))
    }
}

fn access(access: Access) -> &'static str {
    match access {
        Access::InPlace => "in place",
        Access::Packed(PackBy::Runs) => "by runs",
        Access::Packed(PackBy::Depth) => "by depth",
        Access::Packed(PackBy::Across) => "across",
        Access::Packed(PackBy::Slab) => "by slab",
        Access::Packed(PackBy::Elements) => "by elements",
    }
}
