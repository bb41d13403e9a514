//! Lists expressions that are so small that some ranks have no operation.

use crate::command::RunOutput;

/// Expressions and the flags that set the extents of their random operands.
pub const TINY_CASES: [&[&str]; 12] = [
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

/// Returns the number of ranks without any block in a successful run with `--check --json`. Also checks the warning
/// about these ranks.
#[track_caller]
pub fn idle(ended: &RunOutput, ranks: usize) -> usize {
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.out, ended.err);
    let report = ended.json();
    assert_eq!(report["check"]["ok"], true, "{report}");
    let held = report["per_rank"].as_array().unwrap().iter();
    let idle = held.filter(|rank| rank["peak_bytes"]["measured"] == 0).count();
    let have = if idle == 1 { "is idle: it has no task and holds" } else { "are idle: they have no task and hold" };
    let warning = format!("warning: {idle} of {ranks} ranks {have} no block");
    // If the plan leaves ranks idle because this is faster, no warning is required.
    let points: u64 = report["dims"].as_object().unwrap().values().map(|extent| extent.as_u64().unwrap()).product();
    let warnings: Vec<&str> = ended.err.lines().filter(|line| line.starts_with("warning: ")).collect();
    let too_many = ranks as u64 > points;
    assert!(
        warnings == [warning.as_str()] || (warnings.is_empty() && !(too_many && idle > 0)),
        "{warnings:?} {report}"
    );
    idle
}
