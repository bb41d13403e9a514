//! Reads the einsum trees of the Einsum Trees paper from `benches/data/trees.csv`.
#![allow(dead_code, reason = "every test program uses a part of it")]

/// A contraction of several tensors.
pub struct Network {
    pub name: String,
    pub expression: String,
    /// Labels and their extents.
    pub extents: Vec<(char, usize)>,
    /// The contraction path from the data file.
    pub path: String,
}

impl Network {
    pub fn extent(&self, label: char) -> usize {
        self.extents.iter().find(|(other, _)| *other == label).unwrap().1
    }

    /// The shapes of the operands.
    pub fn shapes(&self) -> Vec<Vec<usize>> {
        let terms = self.expression.split("->").next().unwrap().split(',');
        terms.map(|term| term.chars().map(|label| self.extent(label)).collect()).collect()
    }
}

/// All six networks.
pub fn trees() -> Vec<Network> {
    let lines = include_str!("../../benches/data/trees.csv").lines().skip(1);
    let network = |line: &str| {
        // name,"expression",extents,"path",gflop
        let [name, expression, extents, path, _] = line.split('"').collect::<Vec<_>>().try_into().unwrap();
        let extents = extents.trim_matches(',').split(';').map(|pair: &str| {
            let (label, extent) = pair.split_once('=').unwrap();
            (label.chars().next().unwrap(), extent.parse().unwrap())
        });
        let (name, expression, path) = (name.trim_end_matches(',').to_owned(), expression.to_owned(), path.to_owned());
        Network { name, expression, extents: extents.collect(), path }
    };
    lines.map(network).collect()
}
