//! Unit tests of `window`.

#[test]
#[cfg(target_os = "linux")]
fn there_is_no_room_for_more_than_there_is() {
    assert_eq!(super::check_space(2, 0), Ok(()));
    if rustix::fs::statvfs(super::SHM_DIRECTORY).is_ok_and(|place| place.f_blocks > 0) {
        let refused = super::check_space(4, 1 << 56).unwrap_err();
        assert!(refused.starts_with("4 ranks need 288230376155906048 bytes in /dev/shm"), "{refused}");
    }
}
