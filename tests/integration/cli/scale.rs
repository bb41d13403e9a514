//! Tests that the program runs trees with thousands of steps.

use super::run;
use crate::command::Folder;

/// `[[[0,1],[1,2]->[0,2]],[2,3]->[0,3]],..`, nested to the left.
fn left(steps: usize) -> String {
    let tail: Vec<String> = (1..=steps).map(|at| format!(",[{at},{}]->[0,{}]", at + 1, at + 1)).collect();
    format!("{}[0,1]{}", "[".repeat(steps - 1), tail.join("]"))
}

/// `[0,1],[[1,2],[[2,3],[3,4]->[2,4]]->[1,4]]->[0,4]`, nested to the right.
fn right(steps: usize) -> String {
    let head: Vec<String> = (0..steps).map(|at| format!("[{at},{}],", at + 1)).collect();
    let tail: Vec<String> = (0..steps).rev().map(|at| format!("->[{at},{}]", steps + 1)).collect();
    format!("{}[{steps},{}]{}", head.join("["), steps + 1, tail.join("]"))
}

/// `[[ab,bc->ac],cb->ab],..`, in which all brackets reuse the letters `b` and `c` for different dimensions.
fn same_letters(steps: usize) -> String {
    let tail: Vec<&str> = (0..steps).map(|at| if at.is_multiple_of(2) { ",bc->ac" } else { ",cb->ab" }).collect();
    format!("{}ab{}", "[".repeat(steps - 1), tail.join("]"))
}

/// Deep nesting must not overflow the stack, so no stage (parsing, planning, verifying, printing or freeing memory) may
/// recurse over the brackets.
#[test]
fn ten_thousand_nested_brackets_are_planned() {
    let folder = Folder::new("nested");
    for (name, tree) in [("left", left(10_000)), ("right", right(10_000))] {
        folder.write(name, tree.as_bytes());
        let text = run(&folder, &[&format!("@{name}"), "-s2", "-n1", "--explain"]).succeeded().out;
        assert!(text.contains("scaling   at most 3 dimensions per step; 10002 if a single step "), "{name}");
        assert!(text.contains("verified: every element "), "{name}");
    }
}

/// Runs a tree with hundreds of steps on several ranks, with all kinds of output.
#[test]
fn hundreds_of_nested_steps_run_on_several_ranks() {
    let folder = Folder::new("chain");
    folder.write("tree", right(300).as_bytes());
    for flags in [&["-s2"][..], &["-s4", "--algorithm", "ring-k"], &["-s4", "--memory-limit", "1MiB", "--no-overlap"]] {
        let report = run(&folder, &[&["@tree", "-n3", "-t1", "--check", "--json"], flags].concat()).succeeded().json();
        let [nodes, dims] = [&report["nodes"], &report["dims"]];
        assert_eq!(
            (report["check"]["ok"].as_bool(), dims.as_object().map(serde_json::Map::len)),
            (Some(true), Some(302))
        );
        let contractions = nodes.as_array().unwrap().iter().filter(|node| node["op"] == "contract").count();
        assert_eq!(contractions, 300, "{flags:?}");
    }
    let text = run(&folder, &["@tree", "-s8", "-n64", "--simulate"]).succeeded().out;
    assert!(text.contains("verified: every element ") && text.contains("simulated "), "{text}");
}

/// If thousands of brackets each use the same letter for a separate dimension, the names generated for these dimensions
/// stay short.
#[test]
fn dimensions_of_one_letter_have_short_names() {
    let folder = Folder::new("letters");
    folder.write("tree", same_letters(2000).as_bytes());
    let report = run(&folder, &["@tree", "-s2", "-n1", "--explain", "--json"]).succeeded().json();
    let dims = report["dims"].as_object().unwrap();
    assert_eq!(dims.len(), 2002);
    assert!(dims.keys().all(|name| name.len() <= 6), "{:?}", dims.keys().max_by_key(|name| name.len()));
}
