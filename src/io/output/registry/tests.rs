//! Unit tests of `registry`.

use super::*;

#[test]
fn a_lock_that_nobody_gives_back_is_not_waited_for() {
    let path = std::env::temp_dir().join(format!("einsum-dist-registry-{}", std::process::id()));
    fs::write(&path, "").unwrap();
    let files = Mutex::new(vec![path.clone()]);
    let held = files.lock().unwrap();
    assert!(try_lock_and_remove(&files).is_none() && path.exists());
    drop(held);
    assert!(try_lock_and_remove(&files).is_some() && !path.exists());
}
