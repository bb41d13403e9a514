//! Tests path searches under mpirun. All ranks must use the same path, and one rank must print why the search ended.

use crate::command::{Folder, executable, launcher, output_of};

#[test]
fn ranks_agree_on_a_path_that_ran_out_of_time() {
    let folder = Folder::new("mpi-path-time");
    let Some(mut command) = launcher(&folder) else { return };
    folder.write("network.txt", crate::networks::network(14, &crate::networks::complete(14)).as_bytes());
    let flags = ["@network.txt", "-s", "1", "-t1", "--json", "--path", "optimal", "--path-time", "0.001"];
    let ended = output_of(command.args(["-n", "2", executable()]).args(flags)).succeeded();
    assert!(ended.err.matches("not proved optimal").count() <= 1, "{}", ended.err);
    assert_eq!(ended.json()["path"].as_array().map(Vec::len), Some(13));
}

#[test]
fn rank_0_keeps_paths_for_all() {
    let folder = Folder::new("mpi-path-cache");
    let Some(_) = launcher(&folder) else { return };
    folder.write("network.txt", crate::networks::network(14, &crate::networks::complete(14)).as_bytes());
    let flags = ["@network.txt", "-s", "1", "-t1", "--json", "--path", "anneal", "--path-cache", "paths"];
    let mut found = Vec::new();
    for damages in [false, false, true] {
        if damages {
            let file = std::fs::read_dir(folder.path().join("paths")).unwrap().next().unwrap().unwrap().path();
            std::fs::write(file, "damaged").unwrap();
        }
        let mut command = launcher(&folder).unwrap();
        let ended = output_of(command.args(["-n", "2", executable()]).args(flags)).succeeded();
        assert_eq!(ended.err.matches("searching again").count(), usize::from(damages), "{}", ended.err);
        found.push((ended.json()["path_search"]["cached"].clone(), ended.json()["path"].clone()));
    }
    assert_eq!(found.iter().map(|(cached, _)| cached == true).collect::<Vec<_>>(), [false, true, false]);
    assert!(found.iter().all(|(_, path)| *path == found[0].1));
}
