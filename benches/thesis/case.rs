//! Defines the contractions to measure and their sizes.

/// An expression with named dimensions, in several sizes.
pub struct Case {
    pub name: &'static str,
    /// Expression; the name of a dimension determines its extent (see [`Sizes`]).
    pub expression: &'static str,
    pub sizes: Sizes,
}

pub enum Sizes {
    /// Outer and inner extents. Dimensions whose names end in 0 have the outer extent, and other dimensions have the
    /// inner extent. c0 has extent 2.
    Growing(&'static [[usize; 2]]),
    /// Extents of m, n and k.
    Products(&'static [[usize; 3]]),
}

impl Sizes {
    fn len(&self) -> usize {
        match self {
            Sizes::Growing(sizes) => sizes.len(),
            Sizes::Products(sizes) => sizes.len(),
        }
    }
}

/// The two contractions from the thesis, and the plain matrix product in several sizes and shapes. The two contractions
/// use the inner extent from the thesis, except in their smallest size. The plain product has no c dimension.
///
/// For the first contraction, the thesis compares `c` with `master-worker` only up to the size at which the element
/// counts of MPI messages overflow in the thesis's program.
pub const CASES: [Case; 4] = [
    Case {
        name: "figure 5",
        expression: "[c0,m0,k0,k1,m1],[c0,n0,k0,n1,k1]->[c0,m0,n0,n1,m1]",
        sizes: Sizes::Growing(&[[2, 16], [1, 70], [2, 70], [4, 70], [8, 70], [16, 70], [32, 70]]),
    },
    Case {
        name: "figure 6",
        expression: "[m0,c0,k0,k1,m1],[n0,c0,k0,n1,k1]->[m0,n0,c0,n1,m1]",
        sizes: Sizes::Growing(&[[2, 16], [1, 70], [2, 70], [4, 70], [8, 70], [16, 70], [32, 70], [58, 70]]),
    },
    Case {
        name: "product",
        expression: "[m0,k0],[k0,n0]->[m0,n0]",
        sizes: Sizes::Growing(&[[32, 1], [64, 1], [128, 1], [256, 1], [512, 1], [1024, 1], [2048, 1], [4096, 1]]),
    },
    Case {
        name: "shapes",
        expression: "mk,kn->mn",
        sizes: Sizes::Products(&[[4096, 4096, 4096], [512, 512, 65_536], [16_384, 1024, 1024], [8192, 8192, 256]]),
    },
];

/// One size of a case.
pub struct Size {
    pub case: &'static Case,
    at: usize,
}

impl Size {
    /// All sizes of all cases with at most `max_products` multiply-adds. Each is returned with the indices of the case
    /// in [`CASES`] and of the size in the case.
    pub fn all(max_products: f64) -> impl Iterator<Item = ([usize; 2], Size)> {
        let numbers =
            CASES.iter().enumerate().flat_map(|(case, sizes)| (0..sizes.sizes.len()).map(move |at| [case, at]));
        numbers.map(|at| (at, Size::numbered(at))).filter(move |(_, size)| size.products() <= max_products)
    }

    pub fn numbered([case, at]: [usize; 2]) -> Size {
        Size { case: &CASES[case], at }
    }

    /// Text for the column `size` of the table.
    pub fn name(&self) -> String {
        match self.case.sizes {
            Sizes::Growing(sizes) => sizes[self.at].map(|extent| extent.to_string()).join(" "),
            Sizes::Products(sizes) => sizes[self.at].map(|extent| extent.to_string()).join(" x "),
        }
    }

    fn extent(&self, name: &str) -> usize {
        match self.case.sizes {
            Sizes::Growing(sizes) => match name {
                "c0" => 2,
                name if name.ends_with('0') => sizes[self.at][0],
                _ => sizes[self.at][1],
            },
            Sizes::Products(sizes) => {
                let place = ["m", "n", "k"].iter().position(|label| *label == name);
                sizes[self.at][place.unwrap_or_default()]
            }
        }
    }

    fn terms(&self) -> Vec<Vec<&'static str>> {
        let operands = self.case.expression.split("->").next().unwrap_or_default();
        if !operands.contains('[') {
            return operands.split(',').map(|term| term.split("").filter(|name| !name.is_empty()).collect()).collect();
        }
        operands.split("],[").map(|term| term.trim_matches(['[', ']']).split(',').collect()).collect()
    }

    fn products(&self) -> f64 {
        let mut names: Vec<&str> = self.terms().concat();
        names.sort_unstable();
        names.dedup();
        names.into_iter().map(|name| self.extent(name) as f64).product()
    }

    /// Shapes of the two operands.
    pub fn shapes(&self) -> Vec<Vec<usize>> {
        self.terms().into_iter().map(|term| term.into_iter().map(|name| self.extent(name)).collect()).collect()
    }
}
