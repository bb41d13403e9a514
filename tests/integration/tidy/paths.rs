//! Finds the modules of a crate and their imports. Every path is resolved through all `use` declarations to the file
//! that defines the item.
//!
//! Glob imports (`*`) count as imports of the named module. Modules in braces are not treated as separate modules.

use std::collections::{BTreeMap, BTreeSet};

use super::{Source, sources, split_group};

/// Path of a module from the root of the crate.
pub(super) type Module = Vec<String>;

fn module(path: &str) -> Module {
    path.split('/').map(str::to_owned).collect()
}

/// The sources of a crate by module. Files of test modules are removed. A module is a test module if its parent
/// declares it in `text` but not in `code`, where code under `#[cfg(test)]` is blank.
fn modules(crate_folder: &str) -> BTreeMap<Module, Source> {
    let name = |source: &Source| -> Module {
        let path = source.path[crate_folder.len() + 1..].trim_end_matches(".rs").trim_end_matches("/mod");
        if path == "lib" { Module::new() } else { module(path) }
    };
    let mut all: BTreeMap<Module, Source> = sources(&[crate_folder]).into_iter().map(|s| (name(&s), s)).collect();
    let tests: Vec<Module> = all
        .keys()
        .filter(|module| {
            let Some((name, parent)) = module.split_last() else { return false };
            all.get(parent).is_some_and(|parent| !declares(&parent.code, name) && declares(&parent.text, name))
        })
        .cloned()
        .collect();
    all.retain(|module, _| !tests.iter().any(|test| module.starts_with(test)));
    all
}

fn declares(text: &str, name: &str) -> bool {
    text.contains(&format!("mod {name};"))
}

/// A path that a `use` declaration imports, and the local name of the item.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Import {
    path: String,
    name: String,
}

/// The imports in a `use` tree. For example, `a::{b, c::{self, d as e}}` has three.
fn expand(tree: &str) -> Vec<Import> {
    expand_below("", tree)
}

fn expand_below(head: &str, tree: &str) -> Vec<Import> {
    if let Some((inner, group)) = tree.split_once('{') {
        let head = format!("{head}{}", inner.trim());
        let parts = split_group(group).into_iter().filter(|part| !part.trim().is_empty());
        return parts.flat_map(|part| expand_below(&head, part)).collect();
    }
    let mut words = tree.split_whitespace();
    let Some(last) = words.next() else { return Vec::new() };
    let path = format!("{head}{last}");
    let path = path.strip_suffix("::self").unwrap_or(&path);
    let name = words.nth(1).or_else(|| path.split("::").last()).unwrap_or_default();
    vec![Import { path: path.to_owned(), name: name.to_owned() }]
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Positions at which a word starts in code, outside names and paths.
fn starts(code: &str, word: &str) -> Vec<usize> {
    let alone = |at: &usize| !code[..*at].ends_with(|c: char| is_name(c) || c == ':');
    code.match_indices(word).map(|(at, _)| at).filter(alone).collect()
}

/// The imports of code, with their positions.
fn uses(code: &str) -> Vec<(usize, Import)> {
    let tree = |at: usize| code[at + "use ".len()..].split(';').next().unwrap_or_default();
    let places = starts(code, "use ").into_iter();
    places.flat_map(|at| expand(tree(at)).into_iter().map(move |import| (at, import))).collect()
}

/// The paths in code, with their positions. These are the paths in `use` declarations, and paths that start with
/// `crate`, `self`, `super` or an imported module.
pub(super) fn paths(code: &str) -> Vec<(usize, String)> {
    let imports = uses(code);
    let lower = |import: &&Import| import.name.starts_with(|c: char| c.is_lowercase());
    let imported: BTreeSet<&str> =
        imports.iter().map(|(_, import)| import).filter(lower).map(|import| import.name.as_str()).collect();
    let in_code = |at: &usize| !code[..*at].ends_with("use ");
    let heads = imported.into_iter().chain(["crate", "self", "super"]).map(|name| format!("{name}::"));
    let mut found: Vec<(usize, String)> = imports.iter().map(|(at, import)| (*at, import.path.clone())).collect();
    for at in heads.flat_map(|head| starts(code, &head)).filter(in_code) {
        let end = code[at..].find(|c: char| !is_name(c) && c != ':').map_or(code.len(), |end| at + end);
        found.push((at, code[at..end].to_owned()));
    }
    found
}

/// The modules of the crate, and the imports of each module.
pub(super) struct Modules {
    pub(super) sources: BTreeMap<Module, Source>,
    imports: BTreeMap<Module, Vec<Import>>,
}

impl Modules {
    /// The modules below a folder with a `lib.rs`.
    pub(super) fn of_crate(folder: &str) -> Modules {
        Modules::new(modules(folder))
    }

    /// Modules of the given files, for tests.
    pub(super) fn of_code(files: &[(&str, &str)]) -> Modules {
        let source =
            |path: &str, code: &str| Source { path: path.to_owned(), text: String::new(), code: code.to_owned() };
        Modules::new(files.iter().map(|(path, code)| (module(path), source(path, code))).collect())
    }

    fn new(sources: BTreeMap<Module, Source>) -> Modules {
        let of = |source: &Source| uses(&source.code).into_iter().map(|(_, import)| import).collect();
        Modules { imports: sources.iter().map(|(module, source)| (module.clone(), of(source))).collect(), sources }
    }

    /// The modules that a path in `from` depends on. The list contains all modules whose imports are followed, and ends
    /// with the module that defines the item. It is empty if the path leads to a different crate.
    pub(super) fn resolve(&self, from: &Module, path: &str) -> Vec<Module> {
        let mut found = Vec::new();
        self.follow(from, path, &mut Vec::new(), &mut found);
        found
    }

    /// `followed` contains the imports that were followed so far, so that an import whose path starts with its own name
    /// does not recurse.
    fn follow<'a>(&'a self, from: &Module, path: &str, followed: &mut Vec<&'a Import>, found: &mut Vec<Module>) {
        // The path leads to a different crate.
        if path.starts_with("::") {
            return;
        }
        let mut at = from.clone();
        for (place, name) in path.split("::").map(str::trim).enumerate() {
            match name {
                "crate" => at.clear(),
                "self" => {}
                "super" => drop(at.pop()),
                name => {
                    let child: Module = at.iter().cloned().chain([name.to_owned()]).collect();
                    if self.sources.contains_key(&child) {
                        at = child;
                        continue;
                    }
                    let named = |import: &&Import| import.name == name && !followed.contains(import);
                    let import = self.imports.get(&at).and_then(|imports| imports.iter().find(named));
                    if place > 0 {
                        found.push(at.clone());
                    }
                    if let Some(import) = import {
                        let rest: String = path.split("::").skip(place + 1).map(|name| format!("::{name}")).collect();
                        followed.push(import);
                        self.follow(&at, &format!("{}{rest}", import.path), followed, found);
                    }
                    return;
                }
            }
        }
        found.push(at);
    }
}

#[test]
fn paths_lead_through_imports() {
    let imported = expand("a::{b, c::{self, d as e}}");
    let imported: Vec<(&str, &str)> = imported.iter().map(|import| (&*import.path, &*import.name)).collect();
    assert_eq!(imported, [("a::b", "b"), ("a::c", "c"), ("a::c::d", "e")]);
    let code = "use crate::a; fn f() { a::F::new(); self::g(b::h) }";
    let found = paths(code).into_iter().map(|(_, path)| path).collect::<Vec<_>>();
    assert_eq!(found, ["crate::a", "a::F::new", "self::g"]);
    let modules = Modules::of_code(&[
        ("a", "pub use b::{D as E, F}; pub use std::mem::swap; use log::log; use swap::x as swap;"),
        ("a/b", "pub use deep::D; pub struct F;"),
        ("a/b/deep", "pub struct D;"),
        ("a/c", code),
    ]);
    let leads = |path: &str| modules.resolve(&module("a/c"), path).iter().map(|at| at.join("/")).collect::<Vec<_>>();
    assert_eq!(leads("super::E"), ["a", "a/b", "a/b/deep"]);
    assert_eq!(leads("a::F::new"), ["a", "a/b"]);
    for elsewhere in ["super::swap", "super::log", "super::G"] {
        assert_eq!(leads(elsewhere), ["a"], "{elsewhere}");
    }
    assert!(leads("std::mem").is_empty() && leads("::a::F").is_empty());
}
