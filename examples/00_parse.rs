//! From text to a tree of einsums, and the message for a mistake.
//!
//! `cargo run --example 00_parse`

use einsum_parser::{NodeKind, parse};

fn main() -> Result<(), einsum_parser::ParseError> {
    // Every bracket contains an arrow and is contracted first.
    let tree = parse("[ij, jk -> ik], kl -> il")?;
    // White space is ignored: an expression prints in its canonical form.
    assert_eq!(tree.to_string(), "[ij,jk->ik],kl->il");

    // Nodes come children first, the root last, each with its place in the text.
    for node in tree.nodes() {
        let written = &tree.text()[node.span.start..node.span.end];
        match &node.kind {
            NodeKind::Operand { index, .. } => println!("operand {index}   {written}"),
            NodeKind::Einsum { inputs, .. } => println!("einsum of {}  {written}", inputs.len()),
        }
    }
    assert_eq!(tree.nodes().len(), 5);
    assert_eq!(tree.names(), ["i", "j", "k", "l"]);

    // The notation of einsum_ir: lists of names, so that `m0` is one dimension.
    let named = parse("[m0,c0,k0],[n0,c0,k0]->[m0,n0,c0]")?;
    assert_eq!(named.names(), ["m0", "c0", "k0", "n0"]);
    println!("\ndimensions   {}", named.names().join(" "));

    // An error shows the place of the mistake.
    if let Err(error) = parse("mk,kn->mx") {
        assert_eq!(error.labels(), ["x"]);
        println!("\n{}", error.render());
    }
    Ok(())
}
