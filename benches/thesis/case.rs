//! What is contracted, and how large.

/// An expression of named dimensions, whose extents grow together.
pub struct Case {
    pub name: &'static str,
    /// Names say the extent: c0 has two, those that end in 0 the outer extent, those that end in 1 the inner one.
    pub expression: &'static str,
    /// Outer and inner extents.
    pub sizes: &'static [[usize; 2]],
}

/// The thesis's two contractions, with its inner extent but for the smallest, and the plain product, which has no c.
///
/// The thesis compares `c` with `master-worker` on the first one only up to where counts became too large for its messages.
pub const CASES: [Case; 3] = [
    Case {
        name: "figure 5",
        expression: "[c0,m0,k0,k1,m1],[c0,n0,k0,n1,k1]->[c0,m0,n0,n1,m1]",
        sizes: &[[2, 16], [1, 70], [2, 70], [4, 70], [8, 70], [16, 70], [32, 70]],
    },
    Case {
        name: "figure 6",
        expression: "[m0,c0,k0,k1,m1],[n0,c0,k0,n1,k1]->[m0,n0,c0,n1,m1]",
        sizes: &[[2, 16], [1, 70], [2, 70], [4, 70], [8, 70], [16, 70], [32, 70], [58, 70]],
    },
    Case {
        name: "product",
        expression: "[m0,k0],[k0,n0]->[m0,n0]",
        sizes: &[[32, 1], [64, 1], [128, 1], [256, 1], [512, 1], [1024, 1], [2048, 1], [4096, 1]],
    },
];

/// A case of one size.
pub struct Size {
    pub case: &'static Case,
    pub outer: usize,
    pub inner: usize,
}

impl Size {
    /// All sizes of all cases up to a product of this many rows, with the numbers that stand for them.
    pub fn all(rows: usize) -> impl Iterator<Item = ([usize; 2], Size)> {
        let numbers =
            CASES.iter().enumerate().flat_map(|(case, sizes)| (0..sizes.sizes.len()).map(move |at| [case, at]));
        numbers.map(|at| (at, Size::numbered(at))).filter(move |(_, size)| size.rows() <= rows)
    }

    pub fn numbered([case, at]: [usize; 2]) -> Size {
        let case = &CASES[case];
        let [outer, inner] = case.sizes[at];
        Size { case, outer, inner }
    }

    /// Of the matrix product that one index of c is.
    pub fn rows(&self) -> usize {
        self.outer * self.inner
    }

    /// Of the two operands.
    pub fn shapes(&self) -> Vec<Vec<usize>> {
        let extent = |name: &str| match name {
            "c0" => 2,
            name if name.ends_with('0') => self.outer,
            _ => self.inner,
        };
        let operands = self.case.expression.split("->").next().unwrap_or_default();
        let terms = operands.split("],[").map(|term| term.trim_matches(['[', ']']));
        terms.map(|term| term.split(',').map(extent).collect()).collect()
    }
}
