//! Unit tests of `checkpoint`.

use super::*;

fn manifest() -> Manifest {
    Manifest {
        fingerprint: digest(b"plan"),
        factors: "alpha".to_owned(),
        origin: "{\"order\":[]}".to_owned(),
        operands: vec![digest(b"a"), digest(b"b")],
        generation: 3,
        finished: 7,
        sums: vec![digest(&[])],
    }
}

#[test]
fn a_manifest_is_read_as_it_was_written_and_every_change_is_refused() {
    let folder = std::env::temp_dir().join(format!("einsum-dist-manifest-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("state");
    assert_eq!(Manifest::read(&path).unwrap(), b"");
    manifest().write(&path).unwrap();
    let bytes = Manifest::read(&path).unwrap();
    assert_eq!((Manifest::parse(&bytes).unwrap(), bytes.clone()), (manifest(), fs::read(&path).unwrap()));
    for at in 0..bytes.len() {
        assert!(Manifest::parse(&bytes[..at]).is_err(), "{at}");
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            fs::write(&path, &changed).unwrap();
            assert!(Manifest::read(&path).and_then(|bytes| Manifest::parse(&bytes)).is_err(), "{at}");
        }
    }
    let sum = sum_path(&path, 2, 3);
    assert_eq!(sum, folder.join("state.rank2-1"));
    write_sum(&sum, b"values").unwrap();
    let mut values = [0; 6];
    read_sum(&sum, &mut values, &digest(b"values")).unwrap();
    assert_eq!(&values, b"values");
    assert!(read_sum(&sum, &mut values, &digest(b"others")).is_err());
    assert!(read_sum(&sum, &mut [0; 5], &digest(b"value")).is_err());
    assert!(read_sum(&sum_path(&path, 2, 4), &mut values, &digest(b"values")).is_err());
    fs::write(&path, b"other").unwrap();
    assert!(matches!(check_sum_path(&path), Err(CheckpointError::Foreign)));
    check_sum_path(&sum).unwrap();
    remove(&path).unwrap();
    remove(&sum).unwrap();
    assert!(path.exists() && !sum.exists());
    fs::remove_dir_all(&folder).unwrap();
}
