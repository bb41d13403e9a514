//! Unit tests of `launcher`.

use super::*;

fn detected(variables: &[(&str, &str)]) -> Vec<Launcher> {
    detect(|name| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned()))
}

#[test]
fn each_launcher_is_known_by_its_variables() {
    assert_eq!(detected(&[("SLURM_NTASKS", "8")]), []);
    assert_eq!(
        detected(&[("PMI_RANK", "1"), ("PMI_SIZE", "4")]),
        [Launcher { kind: LauncherKind::Mpich, rank: 1, size: Some(4) }]
    );
    assert_eq!(
        detected(&[("OMPI_COMM_WORLD_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "2"), ("PMIX_RANK", "0")]),
        [Launcher { kind: LauncherKind::OpenMpi, rank: 0, size: Some(2) }]
    );
    assert_eq!(detected(&[("PMIX_RANK", "3")]), [Launcher { kind: LauncherKind::Pmix, rank: 3, size: None }]);
}

#[test]
fn an_outer_launcher_does_not_hide_the_inner_one() {
    let nested =
        detected(&[("OMPI_COMM_WORLD_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "1"), ("PMI_RANK", "2"), ("PMI_SIZE", "4")]);
    assert_eq!(nested.iter().map(|launcher| launcher.size).collect::<Vec<_>>(), [Some(1), Some(4)]);
}
