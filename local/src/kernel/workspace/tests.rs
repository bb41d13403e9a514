//! Unit tests of `workspace`.

use super::*;

#[test]
fn grows_and_stays() {
    let mut workspace = Workspace::new();
    assert_eq!(workspace.bytes(), 0);
    workspace.slice::<f64>(10).unwrap().fill(1.0);
    assert_eq!(workspace.bytes(), 80);
    assert_eq!(workspace.slice::<f32>(5).unwrap().len(), 5);
    assert_eq!(workspace.bytes(), 80);
    workspace.clear();
    assert_eq!(workspace.bytes(), 0);
    assert!(workspace.slice::<f64>(0).unwrap().is_empty());
}

#[test]
fn too_much_is_an_error() {
    let mut workspace = Workspace::new();
    // Otherwise, the compiler could remove the unused allocation, and the call would succeed.
    let workspace = std::hint::black_box(&mut workspace);
    let wanted = usize::MAX / 16;
    assert_eq!(workspace.reserve::<f32>(wanted), Err(OutOfMemory { bytes: wanted * 4 }));
    assert_eq!(workspace.reserve::<f64>(usize::MAX), Err(OutOfMemory { bytes: usize::MAX }));
    assert_eq!(workspace.bytes(), 0);
}
