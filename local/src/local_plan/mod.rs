//! Plans how one process contracts two strided tensors, or permutes or sums one, without data, for [`crate::kernel`].
//!
//! Prices (estimated costs) only rank alternatives for one contraction, without measured rates.

mod chain;
mod contract;
mod effort;
mod fold;
mod gemm;
mod isa;
mod layout;
mod loops;
mod permute;
mod products;
mod staged;
mod sum;
mod target;
mod unary;

pub use chain::{SumKind, longest_chain, longest_visits};
pub use contract::{Body, LocalContract, plan_contract, price_contract};
pub use effort::Effort;
pub use fold::{Dim, Loops, fold};
pub use gemm::{
    Access, Axis, AxisDim, BoxAt, GemmPlan, Grid, Group, MAX_COLUMNS, OutAccess, PackBy, Panel, Partial, Price,
    RowLayout, RowTiles, Slab, Table, TileOffsets, register_tiles,
};
pub use isa::Isa;
pub use layout::{Layout, key, row_major};
pub use loops::{Dots, Line, LoopPlan, Nest, Partials, StridedNest, SumBlocks, ThreadShare, plan_loops};
pub use permute::{BUFFER_BYTES, Blocks, CopyKind, MAX_BLOCK_SIDE, Permute, Side};
pub use products::SmallBatchPlan;
pub use staged::{
    Columns, MAX_ODD_SEGMENT, MAX_PICKED, MAX_SEGMENT, PATTERNS, Pick, Run, StagedPlan, TOGETHER, Windows,
};
pub use sum::{Sum, UNIT};
use target::MIN_STREAMED_OUT_BYTES;
pub use target::{CACHE_LINE, Caches, KernelFamily, Target};
pub use target::{MIN_PARALLEL_ELEMENTS, MIN_PARALLEL_MULTIPLY_ADDS, useful_threads};
pub use unary::{UnaryBody, UnaryPlan, plan_unary};
