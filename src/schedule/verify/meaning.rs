//! What each kind of work does to the contents of a rank's buffers.

use std::collections::HashMap;
use std::ops::Range;

use super::content::{Content, Contents, Piece, Prior, add, intersect, products};
use super::{Facts, Fault, Origin};
use crate::dims::Label;
use crate::dist::{Bounds, is_empty};
use crate::schedule::{Accumulate, Buffer, Factor, Home, Schedule, View, Work};

/// The range of each dimension of a box, in coordinates of the whole tensor.
type Ranges = Vec<Range<usize>>;

pub struct Meaning<'a> {
    pub facts: &'a Facts,
    pub schedule: &'a Schedule,
}

impl Meaning<'_> {
    /// What operands, and an output that is added onto, hold at the start.
    pub fn initial(&self) -> Contents {
        let pieces = self.schedule.buffers.iter().map(|buffer| {
            let given = match buffer.home {
                Home::Operand(_) => Prior::Absent,
                Home::Output if self.facts.accumulate => Prior::Raw,
                _ => return Vec::new(),
            };
            self.placed(buffer, given)
        });
        Contents(pieces.collect())
    }

    fn placed(&self, buffer: &Buffer, prior: Prior) -> Vec<Piece> {
        let Some(place) = &buffer.place else { return Vec::new() };
        let (summand, summands) = place.summand;
        let sum = match (prior, summands) {
            (Prior::Absent, 2..) => vec![vec![summand..summand + 1]],
            (Prior::Absent, _) => vec![Vec::new()],
            _ => Vec::new(),
        };
        let pieces = place.region.boxes().into_iter().filter_map(|bounds| {
            let local = place.region.locate(&bounds)?;
            let shift = bounds.iter().zip(&local).map(|(b, l)| b.start as isize - l.start as isize).collect();
            let value = Some(self.facts.tensor(buffer.node));
            let content = Content { value, shift, sum: sum.clone(), prior, alpha: prior != Prior::Absent };
            Some(Piece { bounds: local, content })
        });
        pieces.collect()
    }

    /// Follows one work task.
    pub fn work(&self, contents: &mut Contents, work: &Work) -> Result<(), Fault> {
        match work {
            Work::Contract { left, right, out, accumulate } => self.contract(contents, left, right, out, *accumulate),
            Work::Unary { input, out } => self.unary(contents, input, out),
            Work::Add { input, out } => self.add(contents, input, out),
            Work::Fill { out } => {
                let zeros =
                    Content { value: None, shift: Vec::new(), sum: Vec::new(), prior: Prior::Absent, alpha: true };
                contents.write(out.buffer, Piece { bounds: out.bounds.clone(), content: zeros });
                Ok(())
            }
            Work::Update { input, out } => self.update(contents, input, out),
            Work::Scale { out, factor: Factor::Beta } => self.change(contents, out, |piece| beta(&mut piece.content)),
            Work::Scale { out, factor: Factor::Alpha } => self.change(contents, out, |piece| {
                let fits = piece.content.value.is_none_or(|value| self.facts.is_result(value) && !piece.content.alpha);
                piece.content.alpha = true;
                if fits { Ok(()) } else { Err(Fault::Scaling) }
            }),
        }
    }

    fn buffer(&self, view: &View) -> &Buffer {
        &self.schedule.buffers[view.buffer]
    }

    /// Rewrites every piece of a box.
    fn change(
        &self,
        contents: &mut Contents,
        view: &View,
        mut change: impl FnMut(&mut Piece) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        for mut piece in contents.read(view)? {
            change(&mut piece)?;
            contents.write(view.buffer, piece);
        }
        Ok(())
    }

    /// The finished part of `value` that a box holds.
    fn finished(&self, contents: &Contents, view: &View, value: usize) -> Result<Ranges, Fault> {
        let needed: usize = self.facts.summed(value).1.iter().product();
        let wrong = || Fault::WrongInput(view.buffer);
        let mut shift: Option<Vec<isize>> = None;
        for piece in contents.read(view)? {
            let content = piece.content;
            let here = match content.value {
                Some(held) if held == self.facts.tensor(value) => content.shift,
                None if needed == 0 => self.placed_shift(view).ok_or_else(wrong)?,
                Some(_) => return Err(wrong()),
                None => return Err(Fault::Unfinished(view.buffer)),
            };
            if products(&content.sum) != needed || content.prior != Prior::Absent {
                return Err(Fault::Unfinished(view.buffer));
            }
            if shift.get_or_insert_with(|| here.clone()) != &here {
                return Err(wrong());
            }
        }
        let shift = shift.unwrap_or_else(|| vec![0; view.bounds.len()]);
        moved(&view.bounds, &shift).ok_or_else(wrong)
    }

    fn placed_shift(&self, view: &View) -> Option<Vec<isize>> {
        let pieces = self.placed(self.buffer(view), Prior::Absent);
        let mut holding = pieces.into_iter().filter(|piece| !is_empty(&intersect(&piece.bounds, &view.bounds)));
        holding.next().map(|piece| piece.content.shift)
    }

    fn contract(
        &self,
        contents: &mut Contents,
        left: &View,
        right: &View,
        out: &View,
        accumulate: Accumulate,
    ) -> Result<(), Fault> {
        let value = self.facts.tensor(self.buffer(out).node);
        let Origin::Contract { left: l, right: r } = self.facts.values[value].origin else { return Err(Fault::Shape) };
        let mut ranges: HashMap<Label, Range<usize>> = HashMap::new();
        for (view, input) in [(left, l), (right, r)] {
            let labels = &self.facts.values[input].labels;
            if &self.buffer(view).labels != labels {
                return Err(Fault::WrongInput(view.buffer));
            }
            let held = self.finished(contents, view, input)?;
            for (&label, range) in labels.iter().zip(held) {
                if view.elements() > 0 && ranges.insert(label, range.clone()).is_some_and(|other| other != range) {
                    return Err(Fault::WrongInput(view.buffer));
                }
            }
        }
        let product = self.product_box(value, &ranges);
        let content = self.written(value, out, &ranges, vec![product])?;
        let content = Content { alpha: self.facts.is_result(value), ..content };
        self.accumulate(contents, out, content, accumulate)
    }

    /// The box of summed products that ranges of all labels span.
    fn product_box(&self, value: usize, ranges: &HashMap<Label, Range<usize>>) -> Bounds {
        self.facts.summed(value).0.iter().map(|label| ranges.get(label).cloned().unwrap_or(0..0)).collect()
    }

    /// The content that a step leaves in `out`, whose dimensions have the ranges of its labels.
    fn written(
        &self,
        value: usize,
        out: &View,
        ranges: &HashMap<Label, Range<usize>>,
        sum: Vec<Bounds>,
    ) -> Result<Content, Fault> {
        let labels = &self.facts.values[value].labels;
        if &self.buffer(out).labels != labels {
            return Err(Fault::Shape);
        }
        let mut shift = Vec::with_capacity(labels.len());
        for (label, bounds) in labels.iter().zip(&out.bounds) {
            let range = ranges.get(label).ok_or(Fault::Shape)?;
            if range.len() != bounds.len() {
                return Err(Fault::Shape);
            }
            shift.push(range.start as isize - bounds.start as isize);
        }
        Ok(Content { value: Some(value), shift, sum, prior: Prior::Absent, alpha: false })
    }

    fn accumulate(
        &self,
        contents: &mut Contents,
        out: &View,
        content: Content,
        accumulate: Accumulate,
    ) -> Result<(), Fault> {
        match accumulate {
            Accumulate::Overwrite => {
                contents.write(out.buffer, Piece { bounds: out.bounds.clone(), content });
                Ok(())
            }
            Accumulate::Add => self.change(contents, out, |piece| combine(&mut piece.content, &content)),
            Accumulate::Beta => self.change(contents, out, |piece| {
                beta(&mut piece.content)?;
                combine(&mut piece.content, &content)
            }),
        }
    }

    fn unary(&self, contents: &mut Contents, input: &View, out: &View) -> Result<(), Fault> {
        let value = self.facts.tensor(self.buffer(out).node);
        if value == self.facts.tensor(self.buffer(input).node) {
            return self.copy(contents, input, out);
        }
        let Origin::Unary { input: source } = self.facts.values[value].origin else { return Err(Fault::Shape) };
        let labels = &self.facts.values[source].labels;
        if &self.buffer(input).labels != labels {
            return Err(Fault::WrongInput(input.buffer));
        }
        let mut ranges: HashMap<Label, Range<usize>> = HashMap::new();
        for (&label, range) in labels.iter().zip(self.finished(contents, input, source)?) {
            if ranges.insert(label, range.clone()).is_some_and(|other| other != range) {
                return Err(Fault::WrongInput(input.buffer));
            }
        }
        let product = self.product_box(value, &ranges);
        let content = self.written(value, out, &ranges, vec![product])?;
        contents.write(out.buffer, Piece { bounds: out.bounds.clone(), content });
        Ok(())
    }

    fn copy(&self, contents: &mut Contents, input: &View, out: &View) -> Result<(), Fault> {
        if input.bounds.iter().map(Range::len).ne(out.bounds.iter().map(Range::len)) {
            return Err(Fault::Shape);
        }
        for piece in contents.read(input)? {
            contents.write(out.buffer, carry(piece, input, out));
        }
        Ok(())
    }

    fn add(&self, contents: &mut Contents, input: &View, out: &View) -> Result<(), Fault> {
        if input.bounds.iter().map(Range::len).ne(out.bounds.iter().map(Range::len)) {
            return Err(Fault::Shape);
        }
        for more in contents.read(input)? {
            let more = carry(more, input, out);
            let target = View { buffer: out.buffer, bounds: more.bounds };
            self.change(contents, &target, |piece| combine(&mut piece.content, &more.content))?;
        }
        Ok(())
    }

    fn update(&self, contents: &mut Contents, input: &View, out: &View) -> Result<(), Fault> {
        self.change(contents, out, |piece| beta(&mut piece.content))?;
        self.add(contents, input, out)
    }

    /// Whether the output of this rank is what the expression asks for.
    pub fn result(&self, contents: &Contents) -> Result<(), Fault> {
        let needed: usize = self.facts.summed(self.facts.output).1.iter().product();
        let value = &self.facts.values[self.facts.output];
        let block = value.distribution.block(&value.shape, self.schedule.rank);
        let outputs = self.schedule.buffers.iter().enumerate();
        let outputs: Vec<_> = outputs.filter(|(_, b)| b.home == Home::Output).collect();
        let [(id, buffer)] = outputs.as_slice() else {
            return if block.is_none() && outputs.is_empty() { Ok(()) } else { Err(Fault::Result) };
        };
        let bounds: Bounds = buffer.extents.iter().map(|&extent| 0..extent).collect();
        let view = View { buffer: *id, bounds };
        let placed = self.placed(buffer, Prior::Absent);
        let prior = if self.facts.accumulate { Prior::Scaled } else { Prior::Absent };
        // Of an output of several summands the first is everything, and the others are zeros.
        let zeros = value.distribution.summand(self.schedule.rank).is_some_and(|summand| summand > 0);
        let needed = if zeros { 0 } else { needed };
        for piece in contents.read(&view)? {
            let content = &piece.content;
            if zeros && content.value.is_some() {
                return Err(Fault::Result);
            }
            let here = content.value.is_none_or(|value| {
                value == self.facts.tensor(self.facts.output)
                    && placed
                        .iter()
                        .filter(|p| !is_empty(&intersect(&p.bounds, &piece.bounds)))
                        .all(|p| p.content.shift == content.shift)
            });
            let whole = products(&content.sum) == needed && content.prior == prior && content.alpha;
            if !here || !whole || buffer.node != self.facts.output {
                return Err(Fault::Result);
            }
        }
        Ok(())
    }
}

/// A box of a buffer in coordinates of the tensor.
fn moved(bounds: &[Range<usize>], shift: &[isize]) -> Option<Ranges> {
    let range = |(b, &s): (&Range<usize>, &isize)| Some(b.start.checked_add_signed(s)?..b.end.checked_add_signed(s)?);
    bounds.iter().zip(shift).map(range).collect()
}

/// A piece read from `from`, as it lies in `to` after a copy: both boxes have one shape.
pub fn carry(piece: Piece, from: &View, to: &View) -> Piece {
    let steps = from.bounds.iter().zip(&to.bounds).map(|(f, t)| t.start as isize - f.start as isize);
    let bounds = moved(&piece.bounds, &steps.clone().collect::<Vec<_>>()).unwrap_or_default();
    let mut content = piece.content;
    content.shift.iter_mut().zip(steps).for_each(|(shift, step)| *shift -= step);
    Piece { bounds, content }
}

/// Applies beta to values of the user that nothing has been added to.
fn beta(content: &mut Content) -> Result<(), Fault> {
    let raw = content.prior == Prior::Raw && content.sum.is_empty();
    content.prior = Prior::Scaled;
    if raw { Ok(()) } else { Err(Fault::Scaling) }
}

/// Adds the content of one place to another: the same element of the same tensor, or zeros.
fn combine(content: &mut Content, more: &Content) -> Result<(), Fault> {
    if more.value.is_none() {
        return Ok(());
    }
    if content.value.is_none() {
        *content = more.clone();
        return Ok(());
    }
    if content.value != more.value || content.shift != more.shift {
        return Err(Fault::Shape);
    }
    if more.prior != Prior::Absent || content.alpha != more.alpha || content.prior == Prior::Raw {
        return Err(Fault::Scaling);
    }
    add(&mut content.sum, &more.sum)
}
