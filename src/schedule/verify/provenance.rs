//! The provenance of a rank's buffers: the tensor of each element and the products added so far.

use std::ops::Range;

use super::Fault;
use crate::distribution::{Bounds, Region, is_empty, volume, without};
use crate::schedule::View;

/// The user's previous values of the output in a sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prior {
    Absent,
    /// Not yet multiplied by `beta`.
    Raw,
    Scaled,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// The tensor of the elements (before redistribution); `None` for zeros of no tensor yet.
    pub value: Option<usize>,
    /// The region of the tensor; without dimensions for zeros of unknown position.
    pub at: Region,
    /// The products, in order of addition. Adjacent regions are merged if their indices alone determine the order.
    pub sum: Vec<Region>,
    pub prior: Prior,
    pub alpha: bool,
    /// Whether the regions of `sum` are known to ascend in the order listed for this rank, as at most one does.
    pub ascends: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    pub bounds: Bounds,
    pub content: Content,
}

impl Piece {
    pub fn part(&self, bounds: &[Range<usize>]) -> Piece {
        let bounds = intersect(&self.bounds, bounds);
        if bounds == self.bounds {
            return self.clone();
        }
        let inside =
            bounds.iter().zip(&self.bounds).map(|(part, whole)| part.start - whole.start..part.end - whole.start);
        let at = inside.zip(self.content.at.dims()).map(|(inside, dim)| dim.select(&inside)).collect::<Vec<_>>();
        Piece { bounds, content: Content { at: Region::from(at), ..self.content.clone() } }
    }
}

/// The contents of a rank's buffers, as disjoint pieces; other elements have not been written.
#[derive(Debug, Default)]
pub struct Contents(pub Vec<Vec<Piece>>);

pub fn intersect(a: &[Range<usize>], b: &[Range<usize>]) -> Bounds {
    a.iter().zip(b).map(|(a, b)| a.start.max(b.start)..a.end.min(b.end)).collect()
}

fn meet(a: &[Range<usize>], b: &[Range<usize>]) -> bool {
    a.iter().zip(b).all(|(a, b)| a.start.max(b.start) < a.end.min(b.end))
}

impl Contents {
    /// The pieces of a box, clipped to it.
    ///
    /// # Errors
    /// If an element of the box has not been written.
    pub fn read(&self, view: &View) -> Result<Vec<Piece>, Fault> {
        let meets = |piece: &&Piece| meet(&piece.bounds, &view.bounds);
        let parts: Vec<Piece> =
            self.0[view.buffer].iter().filter(meets).map(|piece| piece.part(&view.bounds)).collect();
        let written: usize = parts.iter().map(|piece| volume(&piece.bounds)).sum();
        if written == view.elements() { Ok(parts) } else { Err(Fault::Unwritten(view.buffer)) }
    }

    /// The pieces of a box if it cuts none of them, and all of it has been written.
    pub fn exactly(&mut self, view: &View) -> Option<Vec<&mut Piece>> {
        let meets = |piece: &&mut Piece| meet(&piece.bounds, &view.bounds);
        let pieces: Vec<&mut Piece> = self.0[view.buffer].iter_mut().filter(meets).collect();
        let whole = |piece: &&mut Piece| intersect(&piece.bounds, &view.bounds) == piece.bounds;
        let written: usize = pieces.iter().map(|piece| volume(&piece.bounds)).sum();
        (pieces.iter().all(whole) && written == view.elements()).then_some(pieces)
    }

    pub fn write(&mut self, buffer: usize, piece: Piece) {
        if is_empty(&piece.bounds) {
            return;
        }
        let pieces = &mut self.0[buffer];
        if !pieces.iter().any(|old| meet(&old.bounds, &piece.bounds)) {
            pieces.push(piece);
            return;
        }
        let mut kept = Vec::with_capacity(pieces.len() + 1);
        for old in pieces.drain(..) {
            let hole = intersect(&old.bounds, &piece.bounds);
            if is_empty(&hole) {
                kept.push(old);
            } else {
                let rest = without(&old.bounds, &hole);
                kept.extend(rest.into_iter().map(|bounds| old.part(&bounds)));
            }
        }
        kept.push(piece);
        *pieces = kept;
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// Whether adjacent regions are merged.
    pub joins: bool,
    /// Whether the order alone excludes repetitions in a sum that ascends.
    pub order_suffices: bool,
}

/// Appends the products `more` to a sum. `follows` returns whether products may follow others; the order within `more`
/// has been checked.
///
/// # Errors
/// If products of `more` are already in the sum, or `follows` returns false.
pub fn add(
    content: &mut Content,
    more: &[Region],
    Rules { joins, order_suffices }: Rules,
    follows: impl Fn(&Region, &Region) -> bool,
) -> Result<(), Fault> {
    let Content { sum, ascends, .. } = content;
    let more: Vec<&Region> = more.iter().filter(|products| !products.is_empty()).collect();
    *ascends &= order_suffices && more.windows(2).all(|pair| follows(pair[0], pair[1]));
    if !*ascends && more.iter().any(|products| sum.iter().any(|have| have.meets(products))) {
        return Err(Fault::Twice);
    }
    if let (Some(last), Some(next)) = (sum.last(), more.first())
        && !follows(last, next)
    {
        return Err(Fault::Order);
    }
    for next in more {
        match sum.last_mut() {
            Some(last) if joins && let Some(both) = last.joined(next) => *last = both,
            _ => sum.push(next.clone()),
        }
    }
    Ok(())
}

pub fn products(sum: &[Region]) -> usize {
    sum.iter().map(Region::volume).sum()
}
