//! `local` and `c`: every rank contracts the blocks that it has; nothing moves.
//!
//! Source: thesis, section 5.1 (`c`).

use super::contraction::{Contraction, contract};
use crate::schedule::{Accumulate, Builder};

pub fn local(builder: &mut Builder, contraction: &Contraction) {
    let rank = builder.rank();
    let Contraction { left, right, out, onto } = contraction;
    let (Some(left), Some(right), Some(out)) = (left.own(rank, &[]), right.own(rank, &[]), out.own(rank, &[])) else {
        return;
    };
    contract(builder, left, right, out, if *onto { Accumulate::Beta } else { Accumulate::Overwrite });
}
