//! The sums of a tile in assembly for x86-64 (`docs/kernels.md`).
//!
//! Columns are listed as `{ number ("sum" "row" vector) .. }`: the registers of the sum and of the rows, and the number
//! of the vector. A complex column is a pair of columns, one for each part (0 is real, 1 is imaginary).
//!
//! The sums (at most 12 with AVX2, 24 with AVX-512), the rows and one column fit into the vector registers. All 13
//! available general-purpose registers may be in use. Four unrolled steps advance addresses only once.

use std::arch::x86_64::_mm256_zeroupper;
use std::mem::offset_of;

use super::super::simd::{Avx2, Avx512};
use super::tile_sums::{LIST, Store, Sum, TileDestination, TileSums};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Columns,
    Terms,
}

impl<R> Sum<R> {
    /// Returns the contiguous dimension of `right` with `parts` reals per element, if any.
    #[inline(always)]
    fn order(&self, parts: usize) -> Option<Order> {
        let one = (parts * size_of::<R>()) as isize;
        if self.column == one {
            Some(Order::Columns)
        } else if self.right_step == one {
            Some(Order::Terms)
        } else {
            None
        }
    }
}

/// Emits one step of the sum: adds the vectors of rows times each column's broadcast element of `right`. `$ls` and
/// `$rs` are address suffixes of `left` and `right`, and `$u` is the step.
#[rustfmt::skip]
macro_rules! step {
    ($order:tt $t:tt $w:tt $ls:tt $rs:tt $u:tt [$($row:tt $at:tt)*] $($column:tt)*) => {
        concat!(
            $("vmovup", $t, " ", $row, ", [{l}", $ls, $at, "]\n",)*
            $(from_column!($order $t $w $rs $u $column),)*
        )
    };
}

#[rustfmt::skip]
macro_rules! from_column {
    (columns $t:tt $w:tt $rs:tt $u:tt { $c:tt $($sum:tt)* }) => {
        terms!($t $w ["{b0}", $rs, "+", $c, "*", size!($t)] $($sum)*)
    };
    (terms $t:tt $w:tt $rs:tt $u:tt { $c:tt $($sum:tt)* }) => {
        terms!($t $w [address!($c), "+", $u, "*", size!($t)] $($sum)*)
    };
    (pairs $t:tt $w:tt $rs:tt $u:tt { $c:tt $($sum:tt)* }) => {
        terms!($t $w [pair!($c), "+(2*", $u, "+", part!($c), ")*", size!($t)] $($sum)*)
    };
}

#[rustfmt::skip]
macro_rules! terms {
    ($t:tt "zmm" [$($from:tt)*] ($sum:tt $row:tt $v:tt)) => {
        concat!("vfmadd231p", $t, " ", $sum, ", ", $row, ", [", $($from)*, "]{{1to", lanes!($t), "}}\n")
    };
    ($t:tt $w:tt [$($from:tt)*] $(($sum:tt $row:tt $v:tt))*) => {
        concat!(
            "vbroadcasts", $t, " ", $w, "3, [", $($from)*, "]\n",
            $("vfmadd231p", $t, " ", $sum, ", ", $row, ", ", $w, "3\n",)*
        )
    };
}

#[rustfmt::skip]
macro_rules! size { ("s") => { "4" }; ("d") => { "8" }; }
#[rustfmt::skip]
macro_rules! lanes { ("s") => { "16" }; ("d") => { "8" }; }

/// Address of a column of `right` with contiguous terms.
#[rustfmt::skip]
macro_rules! address {
    (0) => { "{b0}" }; (1) => { "{b0}+{s}" }; (2) => { "{b0}+2*{s}" }; (3) => { "{b0}+{s3}" };
    (4) => { "{b1}" }; (5) => { "{b1}+{s}" }; (6) => { "{b1}+2*{s}" }; (7) => { "{b1}+{s3}" };
    (8) => { "{b2}" }; (9) => { "{b2}+{s}" }; (10) => { "{b2}+2*{s}" }; (11) => { "{b2}+{s3}" };
    (12) => { "{b3}" }; (13) => { "{b3}+{s}" }; (14) => { "{b3}+2*{s}" }; (15) => { "{b3}+{s3}" };
}

/// Like `address!`, for a part of a complex column.
#[rustfmt::skip]
macro_rules! pair {
    (0) => { address!(0) }; (2) => { address!(1) }; (4) => { address!(2) }; (6) => { address!(3) };
    (8) => { address!(4) }; (10) => { address!(5) }; (12) => { address!(6) }; (14) => { address!(7) };
    (1) => { pair!(0) }; (3) => { pair!(2) }; (5) => { pair!(4) }; (7) => { pair!(6) };
    (9) => { pair!(8) }; (11) => { pair!(10) }; (13) => { pair!(12) }; (15) => { pair!(14) };
}
#[rustfmt::skip]
macro_rules! part {
    (0) => { 0 }; (2) => { 0 }; (4) => { 0 }; (6) => { 0 }; (8) => { 0 }; (10) => { 0 }; (12) => { 0 }; (14) => { 0 };
    ($odd:tt) => { 1 };
}

#[rustfmt::skip]
macro_rules! put {
    ($move:tt $t:tt { $c:tt $(($sum:tt $row:tt $v:tt))* }) => {
        concat!("mov {l}, [{next}+8*", $c, "]\n", $($move, $t, " ", at!($t $v), ", ", $sum, "\n",)*)
    };
}

/// Adds the old values of `out` to one column.
#[rustfmt::skip]
macro_rules! add {
    ($t:tt { $c:tt $(($sum:tt $row:tt $v:tt))* }) => {
        concat!("mov {l}, [{next}+8*", $c, "]\n", $("vaddp", $t, " ", $sum, ", ", $sum, ", ", at!($t $v), "\n",)*)
    };
}

/// Address of a vector of the current column in the destination.
#[rustfmt::skip]
macro_rules! at {
    ($t:tt 0) => { concat!("[{n}+", size!($t), "*{l}]") };
    ($t:tt 1) => { concat!("[{ahead}+", size!($t), "*{l}]") };
    ($t:tt 2) => { concat!("[{b0}+", size!($t), "*{l}]") };
}

/// Calls `steps!` for one layout of `right`, with the address suffixes of four steps, and the instructions that advance
/// `right` by four steps and by one.
#[rustfmt::skip]
macro_rules! sum {
    (columns $from:ident $place:ident $t:tt $($rest:tt)*) => {
        steps!(columns $from $place $t ["" "+{rs}" "+2*{rs}" "+{rs3}"] ["lea {b0}, [{b0}+4*{rs}]",] ["add {b0}, {rs}",] [
            rs = in(reg) $from.right_step, rs3 = in(reg) 3 * $from.right_step,
        ] $($rest)*)
    };
    (terms $from:ident $place:ident $t:tt $($rest:tt)*) => {
        sum!(@ terms $from $place $t ["4*", size!($t)] [size!($t)] $($rest)*)
    };
    (pairs $from:ident $place:ident $t:tt $($rest:tt)*) => {
        sum!(@ pairs $from $place $t ["8*", size!($t)] ["2*", size!($t)] $($rest)*)
    };
    (@ $order:tt $from:ident $place:ident $t:tt [$($four:tt)*] [$($one:tt)*] $($rest:tt)*) => {
        steps!($order $from $place $t ["" "" "" ""] [
            concat!("add {b0}, ", $($four)*), concat!("add {b1}, ", $($four)*), concat!("add {b2}, ", $($four)*), concat!("add {b3}, ", $($four)*),
        ] [
            concat!("add {b0}, ", $($one)*), concat!("add {b1}, ", $($one)*), concat!("add {b2}, ", $($one)*), concat!("add {b3}, ", $($one)*),
            // `asm!` requires that each operand is used.
            "/* {s} {s3} */",
        ] [
            b1 = inout(reg) $from.right.wrapping_byte_offset(4 * $from.column) => _,
            b2 = inout(reg) $from.right.wrapping_byte_offset(8 * $from.column) => _,
            b3 = inout(reg) $from.right.wrapping_byte_offset(12 * $from.column) => _,
            s = in(reg) $from.column, s3 = in(reg) 3 * $from.column,
        ] $($rest)*)
    };
}

#[rustfmt::skip]
macro_rules! steps {
    ($order:tt $from:ident $place:ident $t:tt [$r0:tt $r1:tt $r2:tt $r3:tt] [$($four:expr,)*] [$($one:expr,)*] [$($operand:tt)*]
     $real:ident $w:tt $zero:tt $rows:tt [$($far:tt)*] $($column:tt)*) => {
        steps!(@ ($($column)*) $order $from $place $t [$r0 $r1 $r2 $r3] [$($four,)*] [$($one,)*] [$($operand)*]
            $real $w $zero $rows [$($far)*] $($column)*)
    };
    (@ ($({ $c:tt $(($sum:tt $row:tt $v:tt))* })*) $order:tt $from:ident $place:ident $t:tt
     [$r0:tt $r1:tt $r2:tt $r3:tt] [$($four:expr,)*] [$($one:expr,)*] [$($operand:tt)*]
     $real:ident $w:tt $zero:tt $rows:tt [$($far:tt)*] $($column:tt)*) => {
        std::arch::asm!(
            $($(concat!($zero, " ", $sum, ", ", $sum, ", ", $sum),)*)*
            "sub {n}, 4",
            "jl 3f",
            "2:",
            "prefetcht0 [{next}]",
            "prefetcht0 [{next}+64]",
            "prefetcht0 [{next}+128]",
            "add {next}, 192",
            "test {ahead}, {ahead}",
            "jz 6f",
            "cmp {ahead}, {list}",
            "je 20f",
            "add {ahead}, {l}",
            $(
                concat!("prefetcht0 [{ahead}", $far, "]"),
                concat!("prefetcht0 [{ahead}+{ls}", $far, "]"),
                concat!("prefetcht0 [{ahead}+2*{ls}", $far, "]"),
                concat!("prefetcht0 [{ahead}+{ls3}", $far, "]"),
            )*
            "sub {ahead}, {l}",
            "6:",
            step!($order $t $w "" $r0 "0" $rows $($column)*),
            step!($order $t $w "+{ls}" $r1 "1" $rows $($column)*),
            step!($order $t $w "+2*{ls}" $r2 "2" $rows $($column)*),
            step!($order $t $w "+{ls3}" $r3 "3" $rows $($column)*),
            "lea {l}, [{l}+4*{ls}]",
            $($four,)*
            "sub {n}, 4",
            "jge 2b",
            "3:",
            "add {n}, 4",
            "jz 5f",
            "4:",
            step!($order $t $w "" $r0 "0" $rows $($column)*),
            "add {l}, {ls}",
            $($one,)*
            "dec {n}",
            "jnz 4b",
            "5:",
            "mov {n}, [{place}+{out}]",
            "mov {next}, [{place}+{columns}]",
            "mov {ahead}, [{place}+{vectors}]",
            "mov {b0}, [{place}+{vectors}+8]",
            concat!("lea {ahead}, [{n}+", size!($t), "*{ahead}]"),
            concat!("lea {b0}, [{n}+", size!($t), "*{b0}]"),
            "cmp byte ptr [{place}+{store}], {stream}",
            "jb 8f",
            "je 7f",
            $(add!($t $column),)*
            "8:",
            $(put!("vmovup" $t $column),)*
            "jmp 9f",
            // The list is in memory, because no register is free.
            "20:",
            "mov {ahead}, [{place}+{lines}]",
            "mov {ahead}, [{ahead}]",
            "prefetcht0 [{ahead}]",
            "mov {ahead}, [{place}+{lines}]",
            "mov {ahead}, [{ahead}+8]",
            "prefetcht0 [{ahead}]",
            "mov {ahead}, [{place}+{lines}]",
            "mov {ahead}, [{ahead}+16]",
            "prefetcht0 [{ahead}]",
            "mov {ahead}, [{place}+{lines}]",
            "add {ahead}, 24",
            "mov [{place}+{lines}], {ahead}",
            "cmp {ahead}, [{place}+{lines_end}]",
            "mov {ahead:e}, {list}",
            "jb 6b",
            "xor {ahead:e}, {ahead:e}",
            "jmp 6b",
            "7:",
            $(put!("vmovntp" $t $column),)*
            "9:",
            n = inout(reg) $from.depth => _,
            l = inout(reg) $from.left => _,
            ls = in(reg) $from.left_step,
            ls3 = in(reg) 3 * $from.left_step,
            ahead = inout(reg) $from.ahead => _,
            next = inout(reg) $from.next => _,
            b0 = inout(reg) $from.right => _,
            place = in(reg) &raw const *$place,
            out = const offset_of!(TileDestination<$real>, out),
            columns = const offset_of!(TileDestination<$real>, columns),
            vectors = const offset_of!(TileDestination<$real>, vectors),
            store = const offset_of!(TileDestination<$real>, store),
            list = const LIST,
            lines = const offset_of!(TileDestination<$real>, lines),
            lines_end = const offset_of!(TileDestination<$real>, lines_end),
            stream = const Store::Stream as u8,
            $($operand)*
            out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
            $($(out($sum) _,)*)*
            options(nostack),
        )
    };
}

/// Emits the first columns of a list, with constant conditions, because all branches would take a fifth of the back
/// end's time.
#[rustfmt::skip]
macro_rules! columns {
    ($shape:tt [$($set:tt)*] [$($done:tt)*]) => {};
    ([$v:tt $vectors:ident $order:ident $from:ident $place:ident $t:tt $real:ident] [$($set:tt)*] [$($done:tt)*]
     { $c:tt $($column:tt)* } $($rest:tt)*) => {
        if const { $vectors == $v && N * PARTS == $c + 1 } {
            if $order == Order::Columns {
                sum!(columns $from $place $t $real $($set)* $($done)* { $c $($column)* });
            } else if const { PARTS == 1 } {
                sum!(terms $from $place $t $real $($set)* $($done)* { $c $($column)* });
            } else {
                sum!(pairs $from $place $t $real $($set)* $($done)* { $c $($column)* });
            }
            // The compiler does not see this use of upper halves, which slows down SSE instructions.
            _mm256_zeroupper();
            return true;
        }
        columns!([$v $vectors $order $from $place $t $real] [$($set)*] [$($done)* { $c $($column)* }] $($rest)*);
    };
}

/// Implements [`TileSums::sums`] for one real type.
#[rustfmt::skip]
macro_rules! sums {
    ($real:ident, $t:tt, $avx2:ident, $avx512:ident) => {
        /// # Safety
        /// Same as for [`TileSums::sums`], with the target features below.
        #[target_feature(enable = "avx2,fma")]
        #[inline]
        unsafe fn $avx2<const V: usize, const N: usize, const PARTS: usize>(
            sum: &Sum<$real>,
            place: &TileDestination<$real>,
        ) -> bool {
            let Some(order) = sum.order(PARTS) else { return false };
            // SAFETY: guaranteed by the caller; the assembly uses only registers of the instruction set.
            unsafe {
                columns!([1 V order sum place $t $real] ["ymm" "vxorps" ["ymm0" ""] [""]] []
                    { 0 ("ymm4" "ymm0" 0) }
                    { 1 ("ymm5" "ymm0" 0) }
                    { 2 ("ymm6" "ymm0" 0) }
                    { 3 ("ymm7" "ymm0" 0) }
                    { 4 ("ymm8" "ymm0" 0) }
                    { 5 ("ymm9" "ymm0" 0) }
                    { 6 ("ymm10" "ymm0" 0) }
                    { 7 ("ymm11" "ymm0" 0) }
                    { 8 ("ymm12" "ymm0" 0) }
                    { 9 ("ymm13" "ymm0" 0) }
                    { 10 ("ymm14" "ymm0" 0) }
                    { 11 ("ymm15" "ymm0" 0) }
                );
                columns!([2 V order sum place $t $real] ["ymm" "vxorps" ["ymm0" "" "ymm1" "+32"] ["" "+32"]] []
                    { 0 ("ymm4" "ymm0" 0) ("ymm5" "ymm1" 1) }
                    { 1 ("ymm6" "ymm0" 0) ("ymm7" "ymm1" 1) }
                    { 2 ("ymm8" "ymm0" 0) ("ymm9" "ymm1" 1) }
                    { 3 ("ymm10" "ymm0" 0) ("ymm11" "ymm1" 1) }
                    { 4 ("ymm12" "ymm0" 0) ("ymm13" "ymm1" 1) }
                    { 5 ("ymm14" "ymm0" 0) ("ymm15" "ymm1" 1) }
                );
                columns!([3 V order sum place $t $real] ["ymm" "vxorps" ["ymm0" "" "ymm1" "+32" "ymm2" "+64"] ["" "+64"]] []
                    { 0 ("ymm4" "ymm0" 0) ("ymm5" "ymm1" 1) ("ymm6" "ymm2" 2) }
                    { 1 ("ymm7" "ymm0" 0) ("ymm8" "ymm1" 1) ("ymm9" "ymm2" 2) }
                    { 2 ("ymm10" "ymm0" 0) ("ymm11" "ymm1" 1) ("ymm12" "ymm2" 2) }
                    { 3 ("ymm13" "ymm0" 0) ("ymm14" "ymm1" 1) ("ymm15" "ymm2" 2) }
                );
            }
            false
        }

        /// # Safety
        /// Same as for [`TileSums::sums`], with the target features below.
        #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
        #[inline]
        unsafe fn $avx512<const V: usize, const N: usize, const PARTS: usize>(
            sum: &Sum<$real>,
            place: &TileDestination<$real>,
        ) -> bool {
            let Some(order) = sum.order(PARTS) else { return false };
            // SAFETY: guaranteed by the caller; the assembly uses only registers of the instruction set.
            unsafe {
                columns!([1 V order sum place $t $real] ["zmm" "vpxord" ["zmm0" ""] [""]] []
                    { 0 ("zmm8" "zmm0" 0) }
                    { 1 ("zmm9" "zmm0" 0) }
                    { 2 ("zmm10" "zmm0" 0) }
                    { 3 ("zmm11" "zmm0" 0) }
                    { 4 ("zmm12" "zmm0" 0) }
                    { 5 ("zmm13" "zmm0" 0) }
                    { 6 ("zmm14" "zmm0" 0) }
                    { 7 ("zmm15" "zmm0" 0) }
                    { 8 ("zmm16" "zmm0" 0) }
                    { 9 ("zmm17" "zmm0" 0) }
                    { 10 ("zmm18" "zmm0" 0) }
                    { 11 ("zmm19" "zmm0" 0) }
                    { 12 ("zmm20" "zmm0" 0) }
                    { 13 ("zmm21" "zmm0" 0) }
                    { 14 ("zmm22" "zmm0" 0) }
                    { 15 ("zmm23" "zmm0" 0) }
                );
                columns!([2 V order sum place $t $real] ["zmm" "vpxord" ["zmm0" "" "zmm1" "+64"] ["" "+64"]] []
                    { 0 ("zmm8" "zmm0" 0) ("zmm9" "zmm1" 1) }
                    { 1 ("zmm10" "zmm0" 0) ("zmm11" "zmm1" 1) }
                    { 2 ("zmm12" "zmm0" 0) ("zmm13" "zmm1" 1) }
                    { 3 ("zmm14" "zmm0" 0) ("zmm15" "zmm1" 1) }
                    { 4 ("zmm16" "zmm0" 0) ("zmm17" "zmm1" 1) }
                    { 5 ("zmm18" "zmm0" 0) ("zmm19" "zmm1" 1) }
                    { 6 ("zmm20" "zmm0" 0) ("zmm21" "zmm1" 1) }
                    { 7 ("zmm22" "zmm0" 0) ("zmm23" "zmm1" 1) }
                    { 8 ("zmm24" "zmm0" 0) ("zmm25" "zmm1" 1) }
                    { 9 ("zmm26" "zmm0" 0) ("zmm27" "zmm1" 1) }
                    { 10 ("zmm28" "zmm0" 0) ("zmm29" "zmm1" 1) }
                    { 11 ("zmm30" "zmm0" 0) ("zmm31" "zmm1" 1) }
                );
                columns!([3 V order sum place $t $real] ["zmm" "vpxord" ["zmm0" "" "zmm1" "+64" "zmm2" "+128"] ["" "+64" "+128"]] []
                    { 0 ("zmm8" "zmm0" 0) ("zmm9" "zmm1" 1) ("zmm10" "zmm2" 2) }
                    { 1 ("zmm11" "zmm0" 0) ("zmm12" "zmm1" 1) ("zmm13" "zmm2" 2) }
                    { 2 ("zmm14" "zmm0" 0) ("zmm15" "zmm1" 1) ("zmm16" "zmm2" 2) }
                    { 3 ("zmm17" "zmm0" 0) ("zmm18" "zmm1" 1) ("zmm19" "zmm2" 2) }
                    { 4 ("zmm20" "zmm0" 0) ("zmm21" "zmm1" 1) ("zmm22" "zmm2" 2) }
                    { 5 ("zmm23" "zmm0" 0) ("zmm24" "zmm1" 1) ("zmm25" "zmm2" 2) }
                    { 6 ("zmm26" "zmm0" 0) ("zmm27" "zmm1" 1) ("zmm28" "zmm2" 2) }
                    { 7 ("zmm29" "zmm0" 0) ("zmm30" "zmm1" 1) ("zmm31" "zmm2" 2) }
                );
            }
            false
        }
    };
}

sums!(f32, "s", avx2_f32, avx512_f32);
sums!(f64, "d", avx2_f64, avx512_f64);

macro_rules! tile_sums {
    ($real:ident, $isa:ident, $sums:ident) => {
        impl TileSums<$real> for $isa {
            const SPECIALISED: bool = true;

            #[inline(always)]
            unsafe fn sums<const V: usize, const N: usize, const PARTS: usize>(
                sum: &Sum<$real>,
                place: &TileDestination<$real>,
            ) -> bool {
                // SAFETY: guaranteed by the caller.
                unsafe { $sums::<V, N, PARTS>(sum, place) }
            }
        }
    };
}

tile_sums!(f32, Avx2, avx2_f32);
tile_sums!(f64, Avx2, avx2_f64);
tile_sums!(f32, Avx512, avx512_f32);
tile_sums!(f64, Avx512, avx512_f64);
