//! Generates tensor networks from graphs.

/// An einsum_ir expression that contracts one operand per tensor to a scalar. For each edge between two tensors, their
/// operands share one label.
pub fn network(tensors: usize, edges: &[(usize, usize)]) -> String {
    let mut terms = vec![Vec::new(); tensors];
    for &(one, other) in edges {
        for end in [one, other] {
            terms[end].push(format!("e{one}_{other}"));
        }
    }
    let terms: Vec<String> = terms.iter().map(|labels| format!("[{}]", labels.join(","))).collect();
    format!("{}->[]", terms.join(","))
}

/// Edges of a lattice with open boundaries.
pub fn lattice(sides: &[usize]) -> Vec<(usize, usize)> {
    let mut edges = Vec::new();
    for at in 0..sides.iter().product() {
        let mut stride = 1;
        for side in sides {
            if at / stride % side + 1 < *side {
                edges.push((at, at + stride));
            }
            stride *= side;
        }
    }
    edges
}

/// Edges between all pairs of tensors.
pub fn complete(tensors: usize) -> Vec<(usize, usize)> {
    (0..tensors).flat_map(|one| (one + 1..tensors).map(move |other| (one, other))).collect()
}
