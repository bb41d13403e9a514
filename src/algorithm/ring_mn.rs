//! `ring-mn`: out and one operand stay, the blocks of the other operand travel the ring.
//!
//! Source: thesis, section 5.2, Algorithm 2; collective matrix multiplication of JAX. Written for the right operand
//! travelling; mirrored, left and right change places.
//!
//! ```text
//! mk,kn->mn on 3 ranks, rank 0            computes            meanwhile
//!   step 0                                left n0 -> out n0   sends n0 to 2, receives n1 from 1
//!   step 1                                left n1 -> out n1   sends n1 to 2, receives n2 from 1
//!   step 2                                left n2 -> out n2   -
//! ```
//!
//! Rank i contracts block (i + step) mod p; it receives (p-1)/p of the travelling operand. Its own block is read in place,
//! so inputs end as they began; two exchange buffers take the blocks of the others in turn.

use super::contraction::{Contraction, contract, corner};
use crate::dims::Label;
use crate::schedule::{Accumulate, Builder};

pub fn ring_mn(builder: &mut Builder, contraction: &Contraction, cut: Label, travel: Label) {
    let rank = builder.rank();
    let Contraction { left, right, out, onto } = contraction;
    let mirrored = right.labels.contains(&cut);
    let (stays, travels) = if mirrored { (right, left) } else { (left, right) };
    let ranks = out.distribution.ranks();
    let (Some(stay), Some(own)) = (stays.own(rank, &[]), travels.own(rank, &[])) else { return };
    let (next, previous) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
    let largest = travels.distribution.largest_block(&travels.shape);
    let exchange: Vec<_> = (1..ranks.min(3)).map(|_| travels.scratch(builder, largest.clone())).collect();
    let accumulate = if *onto { Accumulate::Beta } else { Accumulate::Overwrite };

    let mut here = own;
    for step in 0..ranks {
        let block = travels.block((rank + step) % ranks);
        let range = block[travels.dim(travel)].clone();
        let coming = (step + 1 < ranks).then(|| {
            let block = travels.block((rank + step + 1) % ranks);
            corner(exchange[step % exchange.len()], &block)
        });
        if let Some(coming) = &coming {
            builder.send(previous, vec![here.clone()]);
            builder.recv(next, vec![coming.clone()]);
        }
        if let Some(out) = out.own(rank, &[(travel, range)]) {
            let (left, right) = if mirrored { (here, stay.clone()) } else { (stay.clone(), here) };
            contract(builder, left, right, out, accumulate);
        }
        match coming {
            Some(coming) => here = coming,
            None => break,
        }
    }
}
