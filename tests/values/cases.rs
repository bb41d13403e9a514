//! Expressions with less work than there are ranks.

use crate::command::Ran;

/// An expression and the extents of random operands.
pub const SMALL: [&[&str]; 12] = [
    &["->", "-s1"],
    &["a,->a", "-s1"],
    &["a,->a", "-s", "a=0"],
    &["mk,k->m", "-s", "m=0,k=3"],
    &["mk,kn->mn", "-s", "m=1,k=0,n=1"],
    &["i,i->", "-s1"],
    &["ij->", "-s", "i=0,j=2"],
    &["ii->i", "-s", "i=1"],
    &["ba->ab", "-s1"],
    &["bmk,bkn->bmn", "-s", "b=2,m=1,k=1,n=1"],
    &["ij,jk,kl->il", "-s", "1"],
    &["[a,b->ab],ab->", "-s", "a=1,b=2"],
];

/// How many ranks of a run that went well with `--check --json` held nothing, of which there was one warning.
#[track_caller]
pub fn idle(ended: &Ran, ranks: usize) -> usize {
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.out, ended.err);
    let report = ended.json();
    assert_eq!(report["check"]["ok"], true, "{report}");
    let held = report["per_rank"].as_array().unwrap().iter();
    let idle = held.filter(|rank| rank["peak_bytes"]["measured"] == 0).count();
    let have = if idle == 1 { "has no task and holds" } else { "have no task and hold" };
    let warning = format!("warning: {idle} of {ranks} ranks {have} no block");
    let warnings: Vec<&str> = ended.err.lines().filter(|line| line.starts_with("warning: ")).collect();
    assert_eq!(warnings, if idle == 0 { vec![] } else { vec![warning.as_str()] }, "{report}");
    idle
}
