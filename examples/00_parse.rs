//! Parses text into a tree of einsum expressions, and prints the message for a parse error.
//!
//! `cargo run --example 00_parse`

use einsum_parser::{NodeKind, parse};

fn main() -> Result<(), einsum_parser::ParseError> {
    // A bracket contains an einsum with an arrow of its own, which is contracted before the expression around it.
    let tree = parse("[ij, jk -> ik], kl -> il")?;
    // White space is ignored, and an expression is printed in canonical form.
    assert_eq!(tree.to_string(), "[ij,jk->ik],kl->il");

    // Nodes are listed after their children, so the root is last. Each node stores its position in the text.
    for node in tree.nodes() {
        let written = &tree.text()[node.span.start..node.span.end];
        match &node.kind {
            NodeKind::Operand { index, .. } => println!("operand {index}   {written}"),
            NodeKind::Einsum { inputs, .. } => println!("einsum of {}  {written}", inputs.len()),
        }
    }
    assert_eq!(tree.nodes().len(), 5);
    assert_eq!(tree.names(), ["i", "j", "k", "l"]);

    // In the notation of einsum_ir, a term is a list of dimension names in brackets, so `m0` is one dimension.
    let named = parse("[m0,c0,k0],[n0,c0,k0]->[m0,n0,c0]")?;
    assert_eq!(named.names(), ["m0", "c0", "k0", "n0"]);
    println!("\ndimensions   {}", named.names().join(" "));

    // The error message shows the position of the mistake.
    if let Err(error) = parse("mk,kn->mx") {
        assert_eq!(error.labels(), ["x"]);
        println!("\n{}", error.render());
    }
    Ok(())
}
