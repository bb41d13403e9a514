//! The provenance of a rank's buffers: the tensor of each element and the products added so far.

use std::ops::Range;

use super::Fault;
use crate::distribution::{Bounds, Region, is_empty, volume, without};
use crate::schedule::View;
use crate::schedule::boxes::BoxMap;

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
pub struct Contents(Vec<BoxMap<Option<Content>>>);

pub fn intersect(a: &[Range<usize>], b: &[Range<usize>]) -> Bounds {
    a.iter().zip(b).map(|(a, b)| a.start.max(b.start)..a.end.min(b.end)).collect()
}

impl Contents {
    pub fn of(buffers: usize) -> Contents {
        Contents((0..buffers).map(|_| BoxMap::default()).collect())
    }

    fn pieces<'a>(&'a self, buffer: usize, bounds: &'a [Range<usize>]) -> impl Iterator<Item = Piece> {
        let overlapping = self.0[buffer].overlapping(bounds);
        overlapping.filter_map(|(bounds, content)| Some(Piece { bounds, content: content.clone()? }))
    }

    /// The pieces of a box, clipped to it.
    ///
    /// # Errors
    /// If an element of the box has not been written.
    pub fn read(&self, view: &View) -> Result<Vec<Piece>, Fault> {
        let parts: Vec<Piece> = self.pieces(view.buffer, &view.bounds).map(|piece| piece.part(&view.bounds)).collect();
        let written: usize = parts.iter().map(|piece| volume(&piece.bounds)).sum();
        if written == view.elements() { Ok(parts) } else { Err(Fault::Unwritten(view.buffer)) }
    }

    /// Changes the contents of a box. Pieces are not cut, nor long sums copied, unless the box cuts them.
    ///
    /// # Errors
    /// If an element of the box has not been written, or `change` returns an error.
    pub fn change(
        &mut self,
        view: &View,
        mut change: impl FnMut(&[Range<usize>], &mut Content) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let View { buffer, bounds } = view;
        let (mut whole, mut written) = (true, 0);
        for (piece, _) in self.0[*buffer].overlapping(bounds) {
            whole &= intersect(&piece, bounds) == piece;
            written += volume(&piece);
        }
        if whole && written == view.elements() {
            let mut result = Ok(());
            self.0[*buffer].retain(bounds, |piece, content| {
                let piece: Bounds = piece.iter().map(|&[start, end]| start..end).collect();
                if let (Ok(()), Some(content)) = (&result, content) {
                    result = change(&piece, content);
                }
                true
            });
            return result;
        }
        for Piece { bounds, mut content } in self.read(view)? {
            change(&bounds, &mut content)?;
            self.write(*buffer, Piece { bounds, content });
        }
        Ok(())
    }

    pub fn write(&mut self, buffer: usize, piece: Piece) {
        if is_empty(&piece.bounds) {
            return;
        }
        let mut cut: Vec<Piece> = Vec::new();
        self.0[buffer].retain(&piece.bounds, |old, content| {
            let bounds: Bounds = old.iter().map(|&[start, end]| start..end).collect();
            let rest = without(&bounds, &intersect(&bounds, &piece.bounds));
            if let (false, Some(content)) = (rest.is_empty(), content.take()) {
                let old = Piece { bounds, content };
                cut.extend(rest.into_iter().map(|bounds| old.part(&bounds)));
            }
            false
        });
        for Piece { bounds, content } in cut.into_iter().chain([piece]) {
            *self.0[buffer].entry(&bounds) = Some(content);
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Rules {
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
    append(sum, more, joins);
    Ok(())
}

/// Appends regions, each merged with the last one if `joins` and they are adjacent.
pub fn append<'a>(sum: &mut Vec<Region>, more: impl IntoIterator<Item = &'a Region>, joins: bool) {
    for next in more {
        match sum.last_mut() {
            Some(last) if joins && let Some(both) = last.joined(next) => *last = both,
            _ => sum.push(next.clone()),
        }
    }
}

pub fn products(sum: &[Region]) -> usize {
    sum.iter().map(Region::volume).sum()
}
