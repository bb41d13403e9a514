//! Tests plans for contractions and trees: distributions, groups of ranks, paths, slices, reuse and predicted times.

mod checkpoints;
mod conjugation;
mod distributions;
mod equal_steps;
mod exponents;
mod fixed;
mod groups;
mod lent;
mod nodes;
mod objective;
mod operand_parts;
mod parts;
mod paths;
mod pipeline;
mod rates;
mod reuse;
mod shared_links;
mod side_by_side;
mod simulate;
mod slice_groups;
mod small_operands;
mod whole_tree;
