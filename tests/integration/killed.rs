//! Kills sliced runs with a checkpoint, and checks that they continue with the same bits.

use std::process::{Child, Command, Stdio};

use crate::command::{Folder, output_of, program};

/// A run of more than a hundred slices, each of which takes some milliseconds with the slow kernel. The
/// intermediate `ab` is much larger than all other tensors.
const SLICED: [&str; 5] = ["[ak,bk->ab],bd->ad", "-sa=3000,b=3000,k=5,d=1", "-t1", "--kernel=reference", "-oc.npy"];

const SAVING: [&str; 2] = ["--checkpoint=state", "--checkpoint-every=0.01"];

/// The arguments of the sliced run on this number of ranks, with a memory limit that needs many slices.
pub fn sliced(folder: &Folder, ranks: usize) -> Vec<String> {
    let ranks = format!("-n{ranks}");
    let base = [&SLICED[..], &[&ranks]].concat();
    let planned = |limit: &str| {
        let flags = ["--explain", "--json", limit, SAVING[0]];
        let ended = output_of(&mut program(folder, &[&base[..], &flags].concat()));
        (ended.code == Some(0)).then(|| ended.json())
    };
    let most = planned("--memory-limit=1GiB").unwrap()["peak_bytes"]["planned"].as_u64().unwrap();
    let limits = [20, 15, 12, 10, 8, 7, 6, 5].map(|permille| format!("--memory-limit={}", most * permille / 1000));
    let many = |limit: &&String| planned(limit).is_some_and(|report| report["slices"].as_u64() > Some(100));
    let limit = limits.iter().find(many).unwrap_or_else(|| panic!("no memory limit leads to a hundred slices"));
    base.iter().chain([&limit.as_str()]).map(|&argument| argument.to_owned()).collect()
}

/// Kills a run at moments that are spread over its time, and lets it end. The result must have the bits of an undisturbed
/// run, and no other file may remain.
pub fn survives_kills(folder: &Folder, start: &dyn Fn(&[&str]) -> Command, kill: &dyn Fn(&Child)) {
    let seconds = output_of(&mut start(&SAVING[..1])).succeeded().took;
    let want = std::fs::read(folder.path().join("c.npy")).unwrap();
    std::fs::remove_file(folder.path().join("c.npy")).unwrap();
    for share in [0.7, 0.4, 0.5] {
        let mut child = start(&SAVING).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(seconds.mul_f64(share));
        kill(&child);
        child.wait().unwrap();
    }
    let ended = output_of(&mut start(&SAVING)).succeeded();
    assert_eq!(folder.files(), ["c.npy"]);
    assert!(std::fs::read(folder.path().join("c.npy")).unwrap() == want, "{}", ended.out);
}
