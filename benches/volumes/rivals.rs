//! Computes the grids of pm x pn x pk ranks that other decompositions choose, and the words that the busiest rank
//! receives.
//!
//! Every decomposition uses the best integer grid that its rule allows, with the same allowance for idle ranks as our
//! grid. The best grid has the fewest words, on the assumption that a rank receives the fraction 1 - 1/s of a tile that
//! s ranks share. The words for the chosen grids are then counted exactly, with tiles divided into the same parts as in
//! our grid.

/// Extents of a matrix product.
#[derive(Clone, Copy)]
pub struct Shape {
    pub m: f64,
    pub n: f64,
    pub k: f64,
}

/// One row of the table.
pub struct Case {
    pub extents: Shape,
    pub ranks: usize,
    pub idle: usize,
    /// Words of memory per rank.
    pub memory: f64,
}

/// Number of tiles along m, n and k.
pub type Grid = [usize; 3];

impl Case {
    /// Sizes of the largest tiles of `left`, `right` and `out`.
    fn tiles(&self, [pm, pn, pk]: Grid) -> [f64; 3] {
        let Shape { m, n, k } = self.extents;
        let [m, n, k] = [(m / pm as f64).ceil(), (n / pn as f64).ceil(), (k / pk as f64).ceil()];
        [m * k, k * n, m * n]
    }

    /// Number of words that the busiest rank receives. `None` if a rank's memory is too small for its parts of the
    /// three tensors and, if k is cut, its partial sums of a tile of `out`.
    pub fn words(&self, grid: Grid) -> Option<f64> {
        let ([left, right, out], [pm, pn, pk]) = (self.tiles(grid), grid.map(|parts| parts as f64));
        let held = left / pn + right / pm + out / pk + if pk > 1.0 { out } else { 0.0 };
        let words = left * (1.0 - 1.0 / pn) + right * (1.0 - 1.0 / pm) + out * (1.0 - 1.0 / pk);
        (held <= self.memory).then_some(words)
    }

    /// All grids that leave at most the allowed number of ranks idle, and cut no dimension into more parts than its
    /// extent.
    fn grids(&self) -> impl Iterator<Item = Grid> + '_ {
        let Shape { m, n, k } = self.extents;
        let (ranks, least) = (self.ranks, self.ranks.saturating_sub(self.idle).max(1));
        let pairs = (1..=ranks).flat_map(move |pm| (1..=ranks / pm).map(move |pn| (pm, pn)));
        let all =
            pairs.flat_map(move |(pm, pn)| (least.div_ceil(pm * pn)..=ranks / (pm * pn)).map(move |pk| [pm, pn, pk]));
        all.filter(move |&[pm, pn, pk]| pm as f64 <= m && pn as f64 <= n && pk as f64 <= k)
    }

    fn least(&self, grids: impl Iterator<Item = Grid>) -> Option<Grid> {
        let fitting = grids.filter_map(|grid| Some((self.words(grid)?, grid)));
        fitting.min_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, grid)| grid)
    }

    /// The allowed grid with the fewest words.
    pub fn best(&self) -> Option<Grid> {
        self.least(self.grids())
    }

    /// The better of the grids with one rank along k for which the ratio of the numbers of ranks along m and along n is
    /// closest to 1.
    pub fn two_dimensional(&self) -> Option<Grid> {
        self.least(self.squarest(1).into_iter())
    }

    /// The grids with `layers` ranks along k for which the ratio of the numbers of ranks along m and along n is closest
    /// to 1.
    fn squarest(&self, layers: usize) -> Vec<Grid> {
        let stretch = |grid: &Grid| grid[0].max(grid[1]) as f64 / grid[0].min(grid[1]) as f64;
        let all: Vec<Grid> = self.grids().filter(|grid| grid[2] == layers).collect();
        let least = all.iter().map(stretch).fold(f64::INFINITY, f64::min);
        all.into_iter().filter(|grid| stretch(grid) == least).collect()
    }

    /// The best of the grids of [`Case::squarest`] with up to p S / (mk + nk) ranks along k, where S is the number of
    /// words of memory per rank.
    pub fn two_and_a_half(&self) -> Option<Grid> {
        let Shape { m, n, k } = self.extents;
        let p = self.ranks as f64;
        let max_layers = (p * self.memory / (m * k + n * k)).clamp(1.0, p.cbrt() + 1e-9) as usize;
        self.least((1..=max_layers).flat_map(|layers| self.squarest(layers)))
    }

    /// Recursive bisection gives one grid for each allowed number of ranks. Returns the best of these grids. Each step cuts the longest dimension by
    /// the smallest prime factor of the remaining number of ranks.
    pub fn recursive(&self) -> Option<Grid> {
        let Shape { m, n, k } = self.extents;
        let least = self.ranks.saturating_sub(self.idle).max(1);
        let grids = (least..=self.ranks).map(|ranks| {
            let (mut rest, mut grid) = (ranks, [1; 3]);
            while rest > 1 {
                let factor = (2..=rest).find(|factor| rest.is_multiple_of(*factor)).unwrap_or(rest);
                let lengths = [m / grid[0] as f64, n / grid[1] as f64, k / grid[2] as f64];
                let longest = (0..3).max_by(|&a, &b| lengths[a].total_cmp(&lengths[b])).unwrap_or(0);
                grid[longest] *= factor;
                rest /= factor;
            }
            grid
        });
        self.least(grids)
    }

    /// The grid closest to [m/a, n/a, k/b], with a and b from equation 32 of the COSMA paper for this memory.
    pub fn cosma(&self) -> Option<Grid> {
        let Shape { m, n, k } = self.extents;
        let (volume, p) = (m * n * k, self.ranks as f64);
        let cubic = (volume / p).cbrt();
        let a = self.memory.sqrt().min(cubic);
        let b = (volume / (p * self.memory)).max(cubic);
        let ideal = [m / a, n / a, k / b].map(|parts| parts.max(1.0));
        let far = |grid: &Grid| (0..3).map(|at| (grid[at] as f64 / ideal[at]).ln().powi(2)).sum::<f64>();
        let fitting = self.grids().filter(|&grid| self.words(grid).is_some());
        fitting.min_by(|a, b| far(a).total_cmp(&far(b)))
    }
}
