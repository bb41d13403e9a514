//! Lists the distributions of a matrix by rows, by columns and in tiles, with and without replicas. If a matrix has r
//! replicas, the ranks form r groups of equal size, and each group stores one replica, divided among its ranks.

/// Returns all distributions of a matrix with these dimensions, in the text form that
/// [`einsum_dist::plan::FixedDistributions`] parses. A group consists of consecutive ranks.
pub fn cuts(ranks: usize, [row, column]: [char; 2]) -> Vec<String> {
    let mut all = Vec::new();
    for replicas in (1..=ranks).filter(|replicas| ranks.is_multiple_of(*replicas)) {
        let group = ranks / replicas;
        for down in (1..=group).rev().filter(|down| group.is_multiple_of(*down)) {
            let axes = [('x', replicas), (row, down), (column, group / down)];
            let axes = axes.iter().filter(|(_, parts)| *parts > 1);
            let words = axes.map(|(axis, parts)| match axis {
                'x' => format!("x{parts}"),
                axis => format!("{axis}:{parts}"),
            });
            all.push(words.collect::<Vec<_>>().join(" "));
        }
    }
    all
}
