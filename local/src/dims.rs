//! Classifies the dimensions of a contraction.
//!
//! Invariant: a tensor's labels are distinct, and each label occurs in at least two tensors. Unary steps remove others
//! before; here they are errors.

pub use einsum_parser::Label;
use serde::{Deserialize, Serialize};

/// The role of a dimension in a binary contraction (J. Dressler, Scaling Out, section 2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A batch dimension, in all three tensors.
    C,
    /// A dimension of `left` and `out` only.
    M,
    /// A dimension of `right` and `out` only.
    N,
    /// A summed dimension, of `left` and `right` only.
    K,
}

impl Kind {
    /// The letter used in plans and JSON.
    pub const fn letter(self) -> &'static str {
        match self {
            Kind::C => "c",
            Kind::M => "m",
            Kind::N => "n",
            Kind::K => "k",
        }
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.letter())
    }
}

/// A binary contraction's dimensions by kind: `c`, `m` and `n` in the order of `out`, `k` in that of `left`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Kinds {
    /// Labels of kind [`Kind::C`].
    pub c: Vec<Label>,
    /// Labels of kind [`Kind::M`].
    pub m: Vec<Label>,
    /// Labels of kind [`Kind::N`].
    pub n: Vec<Label>,
    /// Labels of kind [`Kind::K`].
    pub k: Vec<Label>,
}

impl Kinds {
    /// A label's kind, if it is in the contraction.
    pub fn of(&self, label: Label) -> Option<Kind> {
        [(&self.c, Kind::C), (&self.m, Kind::M), (&self.n, Kind::N), (&self.k, Kind::K)]
            .into_iter()
            .find_map(|(labels, kind)| labels.contains(&label).then_some(kind))
    }

    /// All labels with their kinds, in the order c, m, n, k.
    pub fn iter(&self) -> impl Iterator<Item = (Label, Kind)> + '_ {
        let tag = |labels: &'_ [Label], kind: Kind| labels.iter().map(move |&l| (l, kind)).collect::<Vec<_>>();
        [tag(&self.c, Kind::C), tag(&self.m, Kind::M), tag(&self.n, Kind::N), tag(&self.k, Kind::K)]
            .into_iter()
            .flatten()
    }
}

/// The distinct items, in order of first occurrence.
pub fn distinct<T: Clone + PartialEq>(items: &[T]) -> Vec<T> {
    let mut distinct: Vec<T> = Vec::with_capacity(items.len());
    for item in items {
        if !distinct.contains(item) {
            distinct.push(item.clone());
        }
    }
    distinct
}

/// Why three lists of labels form no binary contraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ClassifyError {
    /// A label occurs twice in one tensor.
    #[error("a label occurs twice in one tensor")]
    Repeated(Label),
    /// A label of one operand is neither in the other operand nor in out.
    #[error("a label of one operand is neither in the other operand nor in out")]
    Lonely(Label),
    /// A label of out is in neither operand.
    #[error("a label of out is in neither operand")]
    Unknown(Label),
}

/// The kinds of the labels of `left, right -> out`.
///
/// # Errors
/// If a label occurs twice in one tensor, or in only one of the three tensors.
pub fn classify(left: &[Label], right: &[Label], out: &[Label]) -> Result<Kinds, ClassifyError> {
    for labels in [left, right, out] {
        if let Some((i, &l)) = labels.iter().enumerate().find(|(i, l)| labels[..*i].contains(l)) {
            debug_assert!(i > 0);
            return Err(ClassifyError::Repeated(l));
        }
    }
    let mut kinds = Kinds::default();
    for &l in out {
        match (left.contains(&l), right.contains(&l)) {
            (true, true) => kinds.c.push(l),
            (true, false) => kinds.m.push(l),
            (false, true) => kinds.n.push(l),
            (false, false) => return Err(ClassifyError::Unknown(l)),
        }
    }
    for &l in left.iter().filter(|l| !out.contains(l)) {
        if !right.contains(&l) {
            return Err(ClassifyError::Lonely(l));
        }
        kinds.k.push(l);
    }
    match right.iter().find(|l| !out.contains(l) && !left.contains(l)) {
        Some(&l) => Err(ClassifyError::Lonely(l)),
        None => Ok(kinds),
    }
}
