//! Plans how one process contracts two strided tensors, or permutes or sums one. Accesses no data.
//!
//! [`plan_contract`] takes three [`Layout`]s, an element type and a [`Target`] and returns a [`LocalContract`]: which
//! dimensions form the matrices of the inner product, which are loops around it, which tensors are packed first, how
//! the work is divided among threads and how much workspace is needed. [`crate::kernel`] executes it. A plan is a plain
//! value, so a planner can account for its memory long before there is a tensor.
//!
//! Deliberately absent: measured rates. A price ranks alternatives for one contraction and does not predict seconds.

mod chain;
mod contract;
mod fixed_loops;
mod fold;
mod gemm;
mod isa;
mod layout;
mod loops;
mod permute;
mod products;
mod sum;
mod target;
mod unary;

pub use chain::{SumOf, longest_chain, longest_visits};
pub use contract::{Body, LocalContract, Price, plan_contract, price_contract};
pub use fixed_loops::Loops;
pub use fold::{Dim, fold};
pub use gemm::{
    Access, Axis, AxisDim, BoxAt, GemmPlan, Grid, Group, MOST_COLUMNS, OutAccess, PackBy, Panel, Partial, RowLayout,
    RowTiles, Slab, Spot, Table, register_tiles,
};
pub use isa::Isa;
pub use layout::{Layout, key, row_major};
pub use loops::{Any, Dots, Line, LoopPlan, Nest, Partials, SumBlocks, ThreadShare, plan_loops};
pub use permute::{BUFFER_BYTES, Blocks, LONGEST, Moves, Permute, Side};
pub use products::ProductsPlan;
pub use sum::{Sum, UNIT};
use target::FAR_BYTES;
pub(crate) use target::WORTH_THREADS;
pub use target::{CACHE_LINE, Caches, Family, Target};
pub use unary::{UnaryBody, UnaryPlan, plan_unary};
