//! Unit tests of `temporary`.

use super::*;

/// Tests that creation waits for a process that has locked a leftover to remove it, and fails if the lock is never
/// released.
#[test]
fn a_name_that_is_being_swept_is_waited_for() {
    let path = std::env::temp_dir().join(format!("einsum-dist-swept-{}", std::process::id()));
    let swept = File::create(&path).unwrap();
    swept.lock().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(3 * RETRY_INTERVAL);
            fs::remove_file(&path).unwrap();
            drop(swept);
        });
        assert!(created(&path, 0o600).is_ok());
    });
    fs::remove_file(&path).unwrap();
    let kept = File::create(&path).unwrap();
    kept.lock().unwrap();
    assert!(created(&path, 0o600).unwrap_err().to_string().ends_with("cannot create: entity already exists"));
    fs::remove_file(&path).unwrap();
}
