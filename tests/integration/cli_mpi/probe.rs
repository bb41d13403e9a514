//! Tests `machine probe` under mpirun, where all ranks measure together and rank 0 writes.

use einsum_dist::api::host;

use super::{refused, run};
use crate::cli::probe::is_probed;
use crate::command::Folder;

#[test]
fn all_ranks_measure_and_one_writes() {
    let folder = Folder::new("mpi-probe");
    let Some(ran) = run(&folder, "3", &["machine", "probe", "-t1", "-o", "m.toml"]) else { return };
    assert_eq!(ran.succeeded().out, "written     m.toml\n");
    assert_eq!(folder.files(), ["m.toml"]);
    let text = std::fs::read_to_string(folder.path().join("m.toml")).unwrap();
    is_probed(&text, 3, 1);
    assert!(text.contains("# Links: all links are from each rank to the next."), "{text}");
    let printed = run(&folder, "2", &["machine", "probe", "-t1", "--transport", "message"]).unwrap().succeeded().out;
    is_probed(&printed, 2, 1);
    assert!(printed.contains("transport message"), "{printed}");
}

#[test]
fn mistakes_are_refused_once() {
    let folder = Folder::new("mpi-probe-refused");
    // One worker more than are measured; thousands would take long to start.
    let crowd = format!("-t{}", 4 * host::cpus().len() + 1);
    for (arguments, says) in [
        (&["machine", "foo"][..], "'foo'"),
        (&["machine", "probe", "-n2"], "--ranks is for ranks inside one process"),
        (&["machine", "probe", "-o", "none/m.toml"], "none/m.toml: the directory none does not exist"),
        (&["machine", "probe", crowd.as_str()], "more than 4 workers per core are not measured"),
    ] {
        let Some(ended) = run(&folder, "2", arguments) else { return };
        refused(&ended, says);
    }
    assert!(folder.files().is_empty());
}
