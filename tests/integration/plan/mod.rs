//! Plans of contractions and trees: distributions, groups of ranks, paths, slices, reuse, predicted times.

mod distributions;
mod fixed;
mod groups;
mod nodes;
mod parts;
mod paths;
mod pipeline;
mod reuse;
mod side_by_side;
mod simulate;
mod whole_tree;
