//! Chooses the candidates for `summa` by the objective: the shape of the grid, the width of panels, and the broadcast
//! (trees for few panels and high latency, rings for many).

use std::collections::HashMap;

use super::Summa;
use super::panels::panel_count;
use crate::algorithm::cost::{Contracted, Cost, DEEP_ROUND_INDICES};
use crate::algorithm::generator::{Generator, Setting};
use crate::algorithm::objective::Price;
use crate::dims::{Kinds, Label};
use crate::machine::{Link, Machine};
use crate::schedule::collective::CollectiveAlgorithm;

/// Per choice of dimensions.
const SHAPES: usize = 2;
/// Per block of k (`MAX_LIMITED_PANELS` under a memory limit): more hide more transfer time, but each costs tasks.
const MAX_PANELS: usize = 16;
const MAX_LIMITED_PANELS: usize = 1024;

pub fn candidates(setting: &Setting) -> Vec<Summa> {
    let Kinds { c, m, n, k } = setting.kinds;
    let [left, right, out] = [[c, m, k], [c, k, n], [c, m, n]].map(|kinds| kinds.map(Vec::as_slice).concat());
    let cost = Cost { machine: setting.machine, dtype: setting.dtype, extents: setting.extents };
    let contracted = Contracted::new(&cost, [&left, &right, &out]);
    let triples = setting.pairs().flat_map(|(m, n)| k.iter().map(move |&k| [m, n, k]));
    let ranks = contracted.ranks();
    let shapes = (1..=ranks).filter(|rows| ranks.is_multiple_of(*rows)).map(|rows| [rows, ranks / rows]);
    let shapes: Vec<[usize; 2]> = shapes.collect();
    let may_cut = |summa: &Summa| summa.cuts().iter().all(|cut| !setting.uncut.contains(cut));
    let mut known: HashMap<[usize; 3], Vec<Summa>> = HashMap::new();
    let mut chosen = Vec::new();
    for [m, n, k] in triples {
        let extents = [m, n, k].map(|label| setting.extents[label.0 as usize]);
        let alike = known.entry(extents).or_insert_with(|| quickest_first([m, n, k], &shapes, &contracted, setting));
        let own = alike.iter().map(|summa| Summa { m, n, k, ..*summa });
        chosen.extend(own.filter(may_cut).take(SHAPES));
    }
    chosen
}

/// Those for other dimensions differ only if the extents do.
fn quickest_first(dims: [Label; 3], shapes: &[[usize; 2]], contracted: &Contracted, setting: &Setting) -> Vec<Summa> {
    let tuned = shapes.iter().filter_map(|shape| tuned(dims, *shape, contracted, setting.memory));
    let price = |(seconds, summa): (f64, Summa)| {
        let ([left, right, _], of_others) = (shares(&summa, contracted), |line: usize| 1.0 - 1.0 / line as f64);
        (Price { seconds, bytes: left * of_others(summa.columns) + right * of_others(summa.rows) }, summa)
    };
    let mut priced: Vec<(Price, Summa)> = tuned.map(price).collect();
    priced.sort_by(|(a, _), (b, _)| setting.objective.compare(*a, *b));
    priced.into_iter().map(|(_, summa)| summa).collect()
}

fn tuned(
    [m, n, k]: [Label; 3],
    [rows, columns]: [usize; 2],
    contracted: &Contracted,
    memory: Option<f64>,
) -> Option<(f64, Summa)> {
    let longest = contracted.cost.extents[k.0 as usize].div_ceil(rows.max(columns)).max(1);
    let most = longest.min(if memory.is_some() { MAX_LIMITED_PANELS } else { MAX_PANELS });
    let links = slowest_links(contracted.cost.machine, [rows, columns]);
    let halvings = (0..).map(|halving| 1usize << halving).take_while(|&pieces| pieces <= most);
    let summas = halvings.flat_map(|pieces| {
        let width = longest.div_ceil(pieces);
        [CollectiveAlgorithm::Ring, CollectiveAlgorithm::Tree].map(|broadcast| Summa {
            m,
            n,
            k,
            rows,
            columns,
            width,
            broadcast,
        })
    });
    let summas: Vec<Summa> = summas.collect();
    let fits = |summa: &Summa| memory.is_none_or(|memory| held(summa, contracted) <= memory);
    let fitting: Vec<Summa> = summas.iter().copied().filter(fits).collect();
    let all = if fitting.is_empty() { vec![*summas.last()?] } else { fitting };
    let priced = all.into_iter().map(|summa| (seconds_over(links, &summa, contracted), summa));
    priced.min_by(|(a, _), (b, _)| a.total_cmp(b))
}

fn shares(summa: &Summa, contracted: &Contracted) -> [f64; 3] {
    let &Summa { m, n, rows, columns, .. } = summa;
    let ([a, b, c], cost) = (contracted.elements, contracted.cost);
    let (m, n) = (cost.tile(m, rows), cost.tile(n, columns));
    [a * m, b * n, c * m * n]
}

fn held(summa: &Summa, contracted: &Contracted) -> f64 {
    let &Summa { k, rows, columns, width, .. } = summa;
    let ([a, b, c], cost) = (shares(summa, contracted), contracted.cost);
    let panel = width as f64 / cost.extents[k.0 as usize].max(1) as f64;
    let slots = |line: usize, share: f64| if line > 1 { 2.0 * panel * share } else { 0.0 };
    a * cost.tile(k, columns) + b * cost.tile(k, rows) + c + slots(columns, a) + slots(rows, b)
}

/// For the rank that receives each panel last. Cost: O(ranks per node) if links differ, else O(1).
pub fn seconds(summa: &Summa, contracted: &Contracted) -> f64 {
    seconds_over(slowest_links(contracted.cost.machine, [summa.rows, summa.columns]), summa, contracted)
}

/// The same, with the slowest links of any row and column. A panel is contracted while the next arrives.
fn seconds_over([along_row, along_column]: [Link; 2], summa: &Summa, contracted: &Contracted) -> f64 {
    let &Summa { k, rows, columns, width, .. } = summa;
    let (cost, [a, b, c]) = (contracted.cost, shares(summa, contracted));
    let count = panel_count(cost.extents[k.0 as usize], [rows, columns], width) as f64;
    let multiply_adds = contracted.multiply_adds * c / contracted.elements[2].max(1.0);
    // A single panel also passes over `out` once per `DEEP_ROUND_INDICES` summed indices.
    let more = (count - (multiply_adds / c.max(1.0) / DEEP_ROUND_INDICES).ceil()).max(0.0);
    let compute = cost.product_of(count, multiply_adds, a + b + c) + cost.extra_passes(more * c);
    let size = cost.dtype.size() as f64;
    let passes = |share: f64, line: usize, link: Link| {
        let bytes = share / count * size;
        let panel = if bytes > 0.0 { link.latency + bytes / link.bandwidth } else { 0.0 };
        pass(summa.broadcast, line, panel, count)
    };
    let ((first, others), (first_too, others_too)) = (passes(a, columns, along_row), passes(b, rows, along_column));
    let first = first + first_too;
    cost.partly_overlapped([compute, compute / count], [first + others + others_too, first])
}

/// Seconds until all ranks in a line have the first, and the last, of `count` panels of `panel` seconds each.
fn pass(broadcast: CollectiveAlgorithm, line: usize, panel: f64, count: f64) -> (f64, f64) {
    let others = line as f64 - 1.0;
    match broadcast {
        // A rank forwards the previous owner's last panel before its own first one.
        CollectiveAlgorithm::Ring => (others * panel, (count - 1.0 + others) * panel),
        // One broadcast at a time takes a transfer per level, all together about half; two overlap, so the estimate is
        // in between.
        CollectiveAlgorithm::Tree => {
            let levels = f64::from(line.next_power_of_two().ilog2());
            (levels * panel, (count - 1.0) * (3.0 * levels + 1.0) / 4.0 * panel)
        }
        CollectiveAlgorithm::Direct => (others * panel, (count - 1.0) * others * panel),
    }
}

fn slowest_links(machine: &Machine, [rows, columns]: [usize; 2]) -> [Link; 2] {
    // With one rank per compute node, all links are equal.
    if machine.ranks_per_node <= 1 && !machine.shares_links() {
        return [machine.link(0, rows * columns); 2];
    }
    let slower = |a: Link, b: Link| if b.bandwidth < a.bandwidth { b } else { a };
    let next = |rank: usize| {
        let (row, column) = (rank / columns, rank % columns);
        [row * columns + (column + 1) % columns, (row + 1) % rows * columns + column]
    };
    // Links back have shares only if others do, too.
    let link = |rank, next| if next > rank { machine.busy_link(rank, next) } else { machine.link(rank, next) };
    // All other nodes between the ends and the middle are like node 2, or have faster links.
    let (all, per_node) = (rows * columns, machine.ranks_per_node.max(1));
    let (half, end) = (machine.ranks.div_ceil(per_node) / 2, all.div_ceil(per_node));
    let nodes = [0, 1, 2, half.wrapping_sub(1), half, end.wrapping_sub(2), end - 1];
    let ranks = nodes.into_iter().filter(|&node| node < end);
    let ranks = ranks.flat_map(|node| node * per_node..((node + 1) * per_node).min(all));
    let links = ranks.map(|rank| next(rank).map(|next| link(rank, next)));
    let slowest = links.reduce(|[a, b], [c, d]| [slower(a, c), slower(b, d)]);
    slowest.unwrap_or([machine.link(0, rows * columns); 2])
}

#[cfg(test)]
mod tests;
