//! Unit tests of `sizes`.

use super::*;

fn shapes(text: &str, sizes: &str) -> Result<Vec<Vec<usize>>> {
    let problem = Problem::parse(text)?;
    let texts: Vec<String> = if sizes.is_empty() { vec![] } else { vec![sizes.to_owned()] };
    Ok(Sizes::parse(&texts, problem.expression())?.shapes(&problem)?.0)
}

#[test]
fn every_way_to_write_sizes() -> Result<()> {
    assert_eq!(shapes("mk,kn->mn", "8,k=512")?, [[8, 512], [512, 8]]);
    assert_eq!(shapes("mk,kn->mn", "7")?, [[7, 7], [7, 7]]);
    assert_eq!(shapes("mk,kn->mn", "m=2, k=3 ,n=4")?, [[2, 3], [3, 4]]);
    assert_eq!(shapes("[10,9],[9,2]->[10,2]", "3,4,5")?, [[5, 4], [4, 3]]);
    Ok(())
}

#[test]
fn the_default_keeps_every_tensor_small() -> Result<()> {
    assert_eq!(shapes("mk,kn->mn", "")?, [[1024, 1024], [1024, 1024]]);
    assert_eq!(shapes("i,i->", "")?, [[2048], [2048]]);
    // The output is the largest tensor.
    assert_eq!(shapes("a,b,c->abc", "")?, [[128], [128], [128]]);
    // Here the largest tensor is an intermediate.
    assert_eq!(shapes("[ab,cd->abcd],bd->ac", "")?, [[32, 32], [32, 32], [32, 32]]);
    // Without brackets, a better contraction order avoids this large intermediate.
    assert_eq!(shapes("ab,cd,bd->ac", "")?, [[1024, 1024], [1024, 1024], [1024, 1024]]);
    assert_eq!(shapes("mk,kn->mn", "m=4000000")?, [[4_000_000, 1], [1, 1]]);
    Ok(())
}

#[test]
fn what_is_no_size() {
    for (sizes, says) in
        [("x=3", "no label"), ("m=3,m=4", "two extents"), ("1,2,3", "name them"), ("m=", "where an extent")]
    {
        let error = shapes("mk,kn->mn", sizes).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    assert!(shapes("[1,0],[0,2]->[1,2]", "3,4").unwrap_err().to_string().contains("3 names"));
}
