//! Generates random expressions in all three notations, and the shapes of their operands.
//!
//! [`Expression::random`] generates only valid expressions that are small enough to be evaluated product by product, as
//! [`super::einsum`] does. [`spoiled`] introduces errors into their text.

use super::rng::Rng;

/// Maximum number of products of one step.
const POINTS: usize = 20_000;

/// One index of a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index {
    Label(usize),
    Dots,
}

/// An operand or an einsum. An operand has no inputs. An einsum is in brackets unless it is the root.
#[derive(Debug)]
pub struct Node {
    pub term: Vec<Index>,
    pub inputs: Vec<Node>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    Einsum,
    Tree,
    EinsumIr,
}

#[derive(Debug)]
pub struct Expression {
    pub notation: Notation,
    pub names: Vec<String>,
    pub extents: Vec<usize>,
    pub root: Node,
    /// Whether the text has no arrow.
    pub implicit: bool,
    /// Shape of each operand.
    pub shapes: Vec<Vec<usize>>,
}

const LETTERS: [&str; 14] = ["i", "j", "k", "m", "n", "a", "B", "Z", "é", "日", "7", "_", "x", "q"];
const NAMES: [&str; 10] = ["m0", "k0", "10", "9", "2", "0", "long_name", "M", "n_1", "x"];
const EXTENTS: [usize; 16] = [1, 2, 2, 3, 3, 3, 4, 4, 5, 5, 6, 7, 8, 11, 13, 17];

impl Expression {
    /// Generates an expression. If `dots` is true, terms may have an ellipsis for further dimensions, and extents of 1
    /// are broadcast.
    pub fn random(rng: &mut Rng, dots: bool) -> Expression {
        let notation = [Notation::Einsum, Notation::Einsum, Notation::Tree, Notation::EinsumIr][rng.below(4)];
        let pool: &[&str] = if notation == Notation::EinsumIr { &NAMES } else { &LETTERS };
        let mut names: Vec<String> = pool.iter().map(|name| (*name).to_owned()).collect();
        rng.shuffle(&mut names);
        names.truncate(2 + rng.below(5));
        let extent = |rng: &mut Rng| if rng.one_in(60) { 0 } else { EXTENTS[rng.below(EXTENTS.len())] };
        let mut extents: Vec<usize> = names.iter().map(|_| extent(rng)).collect();
        while extents.iter().map(|&n| n.max(1)).product::<usize>() > POINTS {
            let at = rng.below(extents.len());
            extents[at] = extents[at].div_ceil(2);
        }
        let dots = dots && notation != Notation::EinsumIr && rng.one_in(5);
        let depth = if notation == Notation::Einsum { 0 } else { 1 + rng.below(3) };
        let mut root = node(rng, depth, names.len(), dots);
        let implicit = notation == Notation::Einsum && rng.one_in(6);
        if implicit {
            root.term = implied(&root.inputs, &names);
        }
        let mut expression = Expression { notation, names, extents, root, implicit, shapes: Vec::new() };
        expression.shapes = expression.leaves().iter().map(|term| expression.shape(term, rng, dots)).collect();
        expression
    }

    /// The terms of the operands, in the order of the text.
    pub fn leaves(&self) -> Vec<&[Index]> {
        fn collect<'a>(node: &'a Node, found: &mut Vec<&'a [Index]>) {
            if node.inputs.is_empty() {
                found.push(&node.term);
            }
            node.inputs.iter().for_each(|input| collect(input, found));
        }
        let mut found = Vec::new();
        collect(&self.root, &mut found);
        found
    }

    /// A shape for a term. If `dots` is true, extents may be 1, and an ellipsis may match dimensions.
    fn shape(&self, term: &[Index], rng: &mut Rng, dots: bool) -> Vec<usize> {
        let single: Vec<bool> = self.names.iter().map(|_| dots && rng.one_in(12)).collect();
        let mut shape = Vec::new();
        for index in term {
            match index {
                Index::Label(label) => shape.push(if single[*label] { 1 } else { self.extents[*label] }),
                // The dimensions are a suffix of 2 x 3, because ellipses are aligned at the right.
                Index::Dots => shape.extend([2, 3][rng.below(3)..].iter().map(|&n| if rng.one_in(5) { 1 } else { n })),
            }
        }
        shape
    }

    /// The text as a user would type it.
    pub fn text(&self, rng: &mut Rng) -> String {
        let spaces = rng.one_in(10);
        let mut text = String::new();
        self.write(&self.root, true, &mut text);
        if spaces { text.replace(',', " , ").replace("->", " -> ") } else { text }
    }

    fn write(&self, node: &Node, root: bool, text: &mut String) {
        if node.inputs.is_empty() {
            return self.write_term(&node.term, text);
        }
        if !root {
            text.push('[');
        }
        for (at, input) in node.inputs.iter().enumerate() {
            if at > 0 {
                text.push(',');
            }
            self.write(input, false, text);
        }
        if !(root && self.implicit) {
            text.push_str("->");
            self.write_term(&node.term, text);
        }
        if !root {
            text.push(']');
        }
    }

    fn write_term(&self, term: &[Index], text: &mut String) {
        let names = term.iter().map(|index| match index {
            Index::Label(label) => self.names[*label].as_str(),
            Index::Dots => "...",
        });
        if self.notation == Notation::EinsumIr {
            text.push('[');
            text.push_str(&names.collect::<Vec<_>>().join(","));
            text.push(']');
        } else {
            text.extend(names);
        }
    }

    /// Whether the expression is a single list of operands without brackets, which may be contracted in any order.
    pub fn is_flat(&self) -> bool {
        self.root.inputs.iter().all(|input| input.inputs.is_empty())
    }
}

/// Generates an einsum with one to four inputs.
fn node(rng: &mut Rng, depth: usize, labels: usize, dots: bool) -> Node {
    let count = [1, 2, 2, 2, 2, 3, 3, 4][rng.below(8)];
    let inputs: Vec<Node> = (0..count)
        .map(|_| {
            if depth > 0 && rng.one_in(2) {
                node(rng, depth - 1, labels, dots)
            } else {
                Node { term: leaf(rng, labels, dots), inputs: Vec::new() }
            }
        })
        .collect();
    let mut known: Vec<Index> = Vec::new();
    for index in inputs.iter().flat_map(|input| &input.term) {
        if !known.contains(index) {
            known.push(*index);
        }
    }
    rng.shuffle(&mut known);
    known.truncate(if rng.one_in(8) { 0 } else { 1 + rng.below(4) });
    Node { term: known, inputs }
}

fn leaf(rng: &mut Rng, labels: usize, dots: bool) -> Vec<Index> {
    let count = [0, 1, 1, 2, 2, 2, 2, 3, 3, 4][rng.below(10)];
    let mut term: Vec<Index> = Vec::new();
    for _ in 0..count {
        let label = Index::Label(rng.below(labels));
        // A label that the term already has is sometimes repeated, so that the operand's diagonal is used.
        if !term.contains(&label) || rng.one_in(6) {
            term.push(label);
        }
    }
    if dots && rng.one_in(2) {
        term.insert(rng.below(term.len() + 1), Index::Dots);
    }
    term
}

/// The output of an expression without an arrow.
fn implied(inputs: &[Node], names: &[String]) -> Vec<Index> {
    let all: Vec<Index> = inputs.iter().flat_map(|input| input.term.iter().copied()).collect();
    let once = |index: &Index| all.iter().filter(|other| *other == index).count() == 1;
    let mut labels: Vec<usize> = (0..names.len()).filter(|&label| once(&Index::Label(label))).collect();
    labels.sort_by_key(|&label| names[label].clone());
    let dots = all.contains(&Index::Dots).then_some(Index::Dots);
    dots.into_iter().chain(labels.into_iter().map(Index::Label)).collect()
}

/// Returns `text` after one to three random edits, which probably make it invalid.
pub fn spoiled(rng: &mut Rng, text: &str) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    for _ in 0..1 + rng.below(3) {
        let at = rng.below(characters.len() + 1);
        let other = ['-', '>', ',', '[', ']', '.', ' ', '=', 'w', '→', ':', '"', '('][rng.below(13)];
        match rng.below(3) {
            0 => characters.insert(at, other),
            1 if at < characters.len() => drop(characters.remove(at)),
            _ if at < characters.len() => characters[at] = other,
            _ => {}
        }
    }
    characters.into_iter().collect()
}
