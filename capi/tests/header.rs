//! Compares the header with the one that cbindgen writes. `UPDATE_GOLDEN=1` replaces it.

use std::path::Path;

#[test]
fn the_header_is_that_of_the_sources() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let bindings = cbindgen::generate(folder).unwrap();
    let mut written = Vec::new();
    bindings.write(&mut written);
    let header = folder.join("include/einsum_dist.h");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&header, &written).unwrap();
    }
    let current = std::fs::read_to_string(&header).unwrap_or_default();
    assert_eq!(String::from_utf8(written).unwrap(), current, "UPDATE_GOLDEN=1 writes {}", header.display());
}
