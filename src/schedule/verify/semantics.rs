//! How work tasks change the contents of buffers: pieces that describe the elements in one box.

use std::collections::HashMap;
use std::ops::Range;

use super::provenance::{Content, Contents, Piece, Prior, Rules, add, products};
use super::{Fault, Origin, Spec};
use crate::dims::Label;
use crate::distribution::{Bounds, Intervals, Region};
use crate::schedule::{Accumulate, Buffer, Factor, Home, Schedule, View, Work};

pub struct Semantics<'a> {
    pub spec: &'a Spec,
    pub schedule: &'a Schedule,
}

impl Semantics<'_> {
    pub fn initial(&self) -> Contents {
        let mut contents = Contents::of(self.schedule.buffers.len());
        for (id, buffer) in self.schedule.buffers.iter().enumerate() {
            let given = match buffer.home {
                Home::Operand(_) => Prior::Absent,
                Home::Output if self.spec.accumulate => Prior::Raw,
                _ => continue,
            };
            self.placed(buffer, given).into_iter().for_each(|piece| contents.write(id, piece));
        }
        contents
    }

    fn placed(&self, buffer: &Buffer, prior: Prior) -> Option<Piece> {
        let place = buffer.place.as_ref().filter(|place| !place.region.is_empty())?;
        let (summand, summands) = place.summand;
        let sum = match (prior, summands) {
            (Prior::Absent, 2..) => vec![Region::from(vec![Intervals::from(summand..summand + 1)])],
            (Prior::Absent, _) => vec![Region::from(Vec::<Range<usize>>::new())],
            _ => Vec::new(),
        };
        let bounds = buffer.extents.iter().map(|&extent| 0..extent).collect();
        let (value, at) = (Some(self.spec.tensor(buffer.node)), place.region.clone());
        Some(Piece { bounds, content: Content { value, at, sum, prior, alpha: prior != Prior::Absent, ascends: true } })
    }

    pub fn work(&self, contents: &mut Contents, work: &Work) -> Result<(), Fault> {
        match work {
            Work::Contract { left, right, out, accumulate } => self.contract(contents, left, right, out, *accumulate),
            Work::Unary { input, out } => self.unary(contents, input, out),
            Work::Add { input, out } => self.add(contents, input, out),
            Work::Fill { out } => {
                contents.write(out.buffer, self.zeros(out));
                Ok(())
            }
            Work::Update { input, out } => self.update(contents, input, out),
            Work::Scale { out, factor: Factor::Beta } => contents.change(out, |_, content| beta(content)),
            Work::Scale { out, factor: Factor::Alpha } => contents.change(out, |_, content| {
                let fits = content.value.is_none_or(|value| self.spec.is_result(value) && !content.alpha);
                content.alpha = true;
                if fits { Ok(()) } else { Err(Fault::Scaling) }
            }),
        }
    }

    fn buffer(&self, view: &View) -> &Buffer {
        &self.schedule.buffers[view.buffer]
    }

    fn region(&self, view: &View) -> Option<Region> {
        self.placed(self.buffer(view), Prior::Absent).map(|piece| piece.part(&view.bounds).content.at)
    }

    /// Zeros of no tensor yet that fill a box, with its region if the buffer has a placement.
    fn zeros(&self, out: &View) -> Piece {
        let at = self.region(out).unwrap_or_else(|| Region::from(Vec::<Intervals>::new()));
        let content = Content { value: None, at, sum: Vec::new(), prior: Prior::Absent, alpha: true, ascends: true };
        Piece { bounds: out.bounds.clone(), content }
    }

    fn finished(&self, contents: &Contents, view: &View, value: usize) -> Result<Vec<Intervals>, Fault> {
        let needed: usize = self.spec.summed(value).1.iter().product();
        let pieces = contents.read(view)?;
        for Piece { content, .. } in &pieces {
            match content.value {
                Some(held) if held == self.spec.tensor(value) => {}
                Some(_) => return Err(Fault::WrongInput(view.buffer)),
                // Zeros are finished sums without terms.
                None if needed == 0 && content.at.dims().len() == view.bounds.len() => {}
                None => return Err(Fault::Unfinished(view.buffer)),
            }
            if products(&content.sum) != needed || content.prior != Prior::Absent {
                return Err(Fault::Unfinished(view.buffer));
            }
        }
        let dims = (0..view.bounds.len()).map(|dim| along(&pieces, dim));
        dims.collect::<Option<_>>().ok_or(Fault::WrongInput(view.buffer))
    }

    fn contract(
        &self,
        contents: &mut Contents,
        left: &View,
        right: &View,
        out: &View,
        accumulate: Accumulate,
    ) -> Result<(), Fault> {
        let value = self.spec.tensor(self.buffer(out).node);
        let Origin::Contract { left: l, right: r } = self.spec.values[value].origin else { return Err(Fault::Shape) };
        // A correct schedule fills or scales instead.
        if left.elements() == 0 || right.elements() == 0 {
            return Err(Fault::Shape);
        }
        let mut ranges: HashMap<Label, Intervals> = HashMap::new();
        self.read_indices(contents, left, l, &mut ranges)?;
        self.read_indices(contents, right, r, &mut ranges)?;
        let content = self.written(value, out, &ranges)?;
        let content = Content { alpha: self.spec.is_result(value), ..content };
        self.accumulate(contents, Piece { bounds: out.bounds.clone(), content }, out, accumulate)
    }

    fn read_indices(
        &self,
        contents: &Contents,
        view: &View,
        value: usize,
        ranges: &mut HashMap<Label, Intervals>,
    ) -> Result<(), Fault> {
        let labels = &self.spec.values[value].labels;
        if &self.buffer(view).labels != labels {
            return Err(Fault::WrongInput(view.buffer));
        }
        for (&label, range) in labels.iter().zip(self.finished(contents, view, value)?) {
            if ranges.insert(label, range.clone()).is_some_and(|other| other != range) {
                return Err(Fault::WrongInput(view.buffer));
            }
        }
        Ok(())
    }

    fn written(&self, value: usize, out: &View, ranges: &HashMap<Label, Intervals>) -> Result<Content, Fault> {
        let summed = self.spec.summed(value).0;
        let products = summed.iter().map(|label| ranges.get(label).cloned().unwrap_or_default());
        let sum = vec![Region::from(products.collect::<Vec<_>>())];
        let labels = &self.spec.values[value].labels;
        if &self.buffer(out).labels != labels {
            return Err(Fault::Shape);
        }
        let mut at = Vec::with_capacity(labels.len());
        for (label, bounds) in labels.iter().zip(&out.bounds) {
            let indices = ranges.get(label).ok_or(Fault::Shape)?;
            if indices.len() != bounds.len() {
                return Err(Fault::Shape);
            }
            at.push(indices.clone());
        }
        Ok(Content { value: Some(value), at: Region::from(at), sum, prior: Prior::Absent, alpha: false, ascends: true })
    }

    fn accumulate(&self, contents: &mut Contents, new: Piece, out: &View, accumulate: Accumulate) -> Result<(), Fault> {
        match accumulate {
            Accumulate::Overwrite => {
                contents.write(out.buffer, new);
                Ok(())
            }
            Accumulate::Add => contents.change(out, |bounds, content| self.combine(bounds, content, &new)),
            Accumulate::Beta => contents.change(out, |bounds, content| {
                beta(content)?;
                self.combine(bounds, content, &new)
            }),
        }
    }

    fn unary(&self, contents: &mut Contents, input: &View, out: &View) -> Result<(), Fault> {
        let value = self.spec.tensor(self.buffer(out).node);
        if value == self.spec.tensor(self.buffer(input).node) {
            return self.copy(contents, input, out);
        }
        let Origin::Unary { input: source } = self.spec.values[value].origin else { return Err(Fault::Shape) };
        if input.elements() == 0 {
            return Err(Fault::WrongInput(input.buffer));
        }
        let mut ranges: HashMap<Label, Intervals> = HashMap::new();
        self.read_indices(contents, input, source, &mut ranges)?;
        let content = self.written(value, out, &ranges)?;
        contents.write(out.buffer, Piece { bounds: out.bounds.clone(), content });
        Ok(())
    }

    fn copy(&self, contents: &mut Contents, input: &View, out: &View) -> Result<(), Fault> {
        if input.extents() != out.extents() {
            return Err(Fault::Shape);
        }
        for piece in contents.read(input)? {
            contents.write(out.buffer, self.carry(piece, input, out));
        }
        Ok(())
    }

    /// Moves a piece from the box `from` to `to`, of the same shape. Zeros belong wherever they arrive.
    pub fn carry(&self, Piece { bounds, mut content }: Piece, from: &View, to: &View) -> Piece {
        let moved = |(at, (from, to)): (&Range<usize>, (&Range<usize>, &Range<usize>))| {
            at.start - from.start + to.start..at.end - from.start + to.start
        };
        let bounds: Bounds = bounds.iter().zip(from.bounds.iter().zip(&to.bounds)).map(moved).collect();
        if content.value.is_none()
            && let Some(at) = self.region(&View { buffer: to.buffer, bounds: bounds.clone() })
        {
            content.at = at;
        }
        Piece { bounds, content }
    }

    fn add(&self, contents: &mut Contents, input: &View, out: &View) -> Result<(), Fault> {
        if input.extents() != out.extents() {
            return Err(Fault::Shape);
        }
        for more in contents.read(input)? {
            let more = self.carry(more, input, out);
            let target = View { buffer: out.buffer, bounds: more.bounds.clone() };
            contents.change(&target, |bounds, content| self.combine(bounds, content, &more))?;
        }
        Ok(())
    }

    fn update(&self, contents: &mut Contents, input: &View, out: &View) -> Result<(), Fault> {
        contents.change(out, |_, content| beta(content))?;
        self.add(contents, input, out)
    }

    pub fn result(&self, contents: &Contents) -> Result<(), Fault> {
        let needed: usize = self.spec.summed(self.spec.output).1.iter().product();
        let value = &self.spec.values[self.spec.output];
        let block = value.distribution.block(&value.shape, self.schedule.rank);
        let outputs = self.schedule.buffers.iter().enumerate();
        let outputs: Vec<_> = outputs.filter(|(_, b)| b.home == Home::Output).collect();
        let [(id, buffer)] = outputs.as_slice() else {
            return if block.is_none() && outputs.is_empty() { Ok(()) } else { Err(Fault::Result) };
        };
        let view = View::corner(*id, buffer.extents.iter().copied());
        let placed = self.placed(buffer, Prior::Absent);
        let prior = if self.spec.accumulate { Prior::Scaled } else { Prior::Absent };
        // With partial sums, the first summand is the result, and all others are zero.
        let zeros = value.distribution.summand(self.schedule.rank) != Some(0);
        for piece in contents.read(&view)? {
            let content = &piece.content;
            if zeros && content.value.is_none() && prior == Prior::Absent && buffer.node == self.spec.output {
                continue;
            }
            let here = content.value.is_none_or(|value| {
                value == self.spec.tensor(self.spec.output)
                    && placed.as_ref().is_some_and(|placed| placed.part(&piece.bounds).content.at == content.at)
            });
            let whole = products(&content.sum) == needed && content.prior == prior && content.alpha;
            if zeros || !here || !whole || buffer.node != self.spec.output {
                return Err(Fault::Result);
            }
        }
        Ok(())
    }

    fn combine(&self, bounds: &[Range<usize>], content: &mut Content, more: &Piece) -> Result<(), Fault> {
        let more = &more.part(bounds).content;
        if more.value.is_none() {
            return Ok(());
        }
        if content.value.is_none() {
            *content = more.clone();
            return Ok(());
        }
        if content.value != more.value || content.at != more.at {
            return Err(Fault::Shape);
        }
        if more.prior != Prior::Absent || content.alpha != more.alpha || content.prior == Prior::Raw {
            return Err(Fault::Scaling);
        }
        let (value, rank, at) = (content.value.unwrap_or_default(), self.schedule.rank, content.at.clone());
        let order = &self.spec.values[value].order;
        let rules = Rules { joins: order.joins(), order_suffices: order.excludes_repetition(rank) };
        add(content, &more.sum, rules, |last, next| self.spec.follows(value, (rank, &at), last, next))
    }
}

/// The indices along one dimension of a box filled by pieces; `None` if they conflict or do not ascend.
fn along(pieces: &[Piece], dim: usize) -> Option<Intervals> {
    let mut ends: Vec<usize> = pieces.iter().flat_map(|p| [p.bounds[dim].start, p.bounds[dim].end]).collect();
    ends.sort_unstable();
    ends.dedup();
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for pair in ends.windows(2) {
        let mut holding = pieces.iter().filter(|p| p.bounds[dim].start <= pair[0] && pair[1] <= p.bounds[dim].end);
        let indices = |p: &Piece| {
            let start = p.bounds[dim].start;
            p.content.at.dims()[dim].select(&(pair[0] - start..pair[1] - start))
        };
        let first = indices(holding.next()?);
        if holding.any(|other| indices(other) != first) {
            return None;
        }
        ranges.extend(first.ranges().iter().cloned());
    }
    ranges.windows(2).all(|pair| pair[0].end <= pair[1].start).then(|| Intervals::ascending(ranges))
}

/// Records the multiplication of the user's values by `beta`, which must exist, not be multiplied yet, and have no
/// products added.
fn beta(content: &mut Content) -> Result<(), Fault> {
    let raw = content.prior == Prior::Raw && content.sum.is_empty();
    content.prior = Prior::Scaled;
    if raw { Ok(()) } else { Err(Fault::Scaling) }
}
