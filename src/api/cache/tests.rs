//! Unit tests of `cache`.

use super::*;

#[test]
fn only_absolute_directories_are_the_users_cache() {
    let of = |cache: Option<&str>, xdg: Option<&str>, home: Option<&str>| {
        let value = |name: &str| match name {
            "EINSUM_DIST_CACHE" => cache,
            "XDG_CACHE_HOME" => xdg,
            _ => home,
        };
        folder(|name| value(name).map(OsString::from)).map(|path| path.to_string_lossy().into_owned())
    };
    assert_eq!(of(None, Some("/c"), Some("/h")).as_deref(), Some("/c/einsum-dist"));
    for ignored in [None, Some(""), Some("c"), Some("./c"), Some("~/c")] {
        assert_eq!(of(None, ignored, Some("/h")).as_deref(), Some("/h/.cache/einsum-dist"), "{ignored:?}");
        assert_eq!(of(None, None, ignored), None, "{ignored:?}");
    }
    assert_eq!(of(Some("given"), Some("/c"), None).as_deref(), Some("given"));
    assert_eq!(of(Some(""), Some("/c"), None).as_deref(), Some("/c/einsum-dist"));
}
