//! The text form of prescribed distributions (`docs/algorithms.md`).
//!
//! Entries for each operand and then the result are separated by `;`. An entry lists the axes of a grid of ranks,
//! slowest first, separated by spaces or commas. For `*` and omitted entries at the end, the planner chooses.
//!
//! Users never provide or receive partial sums.

use super::error::PlanError;
use crate::distribution::{Axis, Cut, Distribution, GridError, Owners, Role};
use crate::tree::{Step, Tree};

const MAX_AXES: usize = 256;

/// Prescribed distributions; `None` leaves the choice to the planner.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FixedDistributions {
    /// One per operand, except those missing at the end.
    pub operands: Vec<Option<Distribution>>,
    /// The distribution of the result.
    pub output: Option<Distribution>,
}

impl FixedDistributions {
    /// Whether no distribution is prescribed.
    pub fn is_empty(&self) -> bool {
        self.output.is_none() && self.operands.iter().all(Option::is_none)
    }

    /// Parses the text form for a tree.
    ///
    /// # Errors
    /// Same as for [`FixedDistributions::parse`].
    pub fn of(text: &str, tree: &Tree) -> Result<FixedDistributions, PlanError> {
        FixedDistributions::of_tree(text, tree, None)
    }

    /// Like [`FixedDistributions::of`], for a run on `ranks` ranks.
    ///
    /// # Errors
    /// Same as for [`FixedDistributions::parse`], or if a distribution needs more than `ranks` ranks.
    pub fn within(text: &str, tree: &Tree, ranks: usize) -> Result<FixedDistributions, PlanError> {
        FixedDistributions::of_tree(text, tree, Some(ranks))
    }

    fn of_tree(text: &str, tree: &Tree, ranks: Option<usize>) -> Result<FixedDistributions, PlanError> {
        let names = |node: usize| tree.nodes[node].labels.iter().map(|&label| tree.name(label)).collect::<Vec<_>>();
        let mut terms = vec![Vec::new(); tree.operands];
        for (id, node) in tree.nodes.iter().enumerate() {
            if let Step::Leaf { operand } = node.step {
                terms[operand] = names(id);
            }
        }
        terms.push(names(tree.root()));
        FixedDistributions::read(text, &terms.iter().map(Vec::as_slice).collect::<Vec<_>>(), ranks)
    }

    /// Parses the text form. `terms` has the dimension names of each operand, and last those of the result.
    ///
    /// # Errors
    /// If an entry does not describe a distribution of its tensor. The message quotes the invalid part.
    pub fn parse(text: &str, terms: &[&[&str]]) -> Result<FixedDistributions, PlanError> {
        FixedDistributions::read(text, terms, None)
    }

    fn read(text: &str, terms: &[&[&str]], ranks: Option<usize>) -> Result<FixedDistributions, PlanError> {
        let entries: Vec<&str> = text.split(';').collect();
        let operands = terms.len().saturating_sub(1);
        if entries.len() > terms.len() {
            let message = format!("{} distributions for {operands} operands and the result", entries.len());
            return Err(PlanError::Distribution(message));
        }
        let mut fixed = FixedDistributions::default();
        for (at, (entry, names)) in entries.into_iter().zip(terms).enumerate() {
            let of = if at < operands { format!("operand {at}") } else { "the result".to_owned() };
            let read = entry_of(entry, names, ranks);
            let read = read.map_err(|why| PlanError::Distribution(format!("distribution of {of}: {why}")))?;
            if at < operands { fixed.operands.push(read) } else { fixed.output = read }
        }
        Ok(fixed)
    }
}

fn entry_of(text: &str, names: &[&str], ranks: Option<usize>) -> Result<Option<Distribution>, String> {
    let (grid, owners) = match text.split_once('@') {
        Some((grid, ranks)) => (grid, owners(ranks.trim())?),
        None => (text, Owners::default()),
    };
    let words = words(grid);
    if words.is_empty() || words == ["*"] {
        return if owners == Owners::default() { Ok(None) } else { Err("ranks of no grid (`one @4`?)".to_owned()) };
    }
    if words.len() > MAX_AXES {
        return Err(format!("it has {} axes, {MAX_AXES} at most are possible", words.len()));
    }
    let axes = if words == ["one"] {
        Vec::new()
    } else {
        words.iter().map(|word| axis(word, names)).collect::<Result<_, _>>()?
    };
    match Distribution::try_new(axes, owners) {
        Ok(distribution) => {
            let fits = ranks.map_or(Ok(()), |ranks| distribution.fits(names.len(), ranks));
            fits.map(|()| Some(distribution)).map_err(|error| error.to_string())
        }
        Err(GridError::Owners { places }) => Err(format!("`{}` does not name {places} ranks, each once", text.trim())),
        Err(error) => {
            let there_are = ranks.map_or(String::new(), |ranks| format!("; there are {ranks}"));
            Err(format!("{error}{there_are}"))
        }
    }
}

fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut depth = 0usize;
    for char in text.chars() {
        match char {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && (char == ',' || char.is_whitespace()) {
            words.push(String::new());
        } else if let Some(word) = words.last_mut().filter(|_| !char.is_whitespace()) {
            word.push(char);
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn number(text: &str, least: usize) -> Result<usize, String> {
    let number = text.trim().parse::<usize>().ok().filter(|&number| number >= least);
    number.ok_or_else(|| format!("`{}` is no number of at least {least}", text.trim()))
}

fn axis(word: &str, names: &[&str]) -> Result<Axis, String> {
    if let Some(replicas) = word.strip_prefix('x').filter(|rest| !rest.contains(':')) {
        return Ok(Axis { ranks: number(replicas, 1)?, role: Role::Replicate });
    }
    let known = || names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let Some((name, tiles)) = word.rsplit_once(':') else {
        return Err(format!("`{word}` is no axis (`m:2`, `m:cyclic(64,2)`, `m:at(10,30)`, `x2`)"));
    };
    let mut dims = (0..names.len()).filter(|&dim| names[dim] == name);
    let dim = match (dims.next(), dims.next()) {
        (Some(dim), None) => dim,
        (Some(_), Some(_)) => return Err(format!("`{name}` is a diagonal, which no rank can have a part of")),
        _ => return Err(format!("there is no dimension `{name}` (it has {})", known())),
    };
    let inside = |function: &str| tiles.strip_prefix(function)?.strip_prefix('(')?.strip_suffix(')');
    let (ranks, how) = if let Some(inside) = inside("cyclic") {
        let (block, ranks) = inside.split_once(',').ok_or_else(|| format!("`{tiles}` is not cyclic(block,ranks)"))?;
        (number(ranks, 1)?, Cut::cyclic(number(block, 1)?))
    } else if let Some(inside) = inside("at") {
        let bounds = inside.split(',').map(|bound| number(bound, 0)).collect::<Result<Vec<_>, _>>()?;
        if !bounds.is_sorted() {
            return Err(format!("`{tiles}`: where to cut does not ascend"));
        }
        (bounds.len() + 1, Cut::At(bounds))
    } else {
        (number(tiles, 1)?, Cut::Even)
    };
    Ok(Axis { ranks, role: Role::Cut { dim, how } })
}

fn owners(text: &str) -> Result<Owners, String> {
    match text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        Some(list) => Ok(Owners::Listed(list.split(',').map(|rank| number(rank, 0)).collect::<Result<_, _>>()?)),
        None => Ok(Owners::From(number(text, 0)?)),
    }
}
