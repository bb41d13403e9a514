//! No circles of imports: inside every folder of `src`, files and folders import each other in one direction.
//!
//! A module may import from its parent's file, and the parent from its children. Whatever it imports from elsewhere
//! counts for the two siblings below the closest common parent. A path is followed as far as it names modules, so an
//! item that the parent re-exports counts as the parent's.

use std::collections::{BTreeMap, BTreeSet};

use super::{Source, none, sources, split_group};

/// Path of a module from the root of the crate.
type Module = Vec<String>;

/// The sources by module. The file of a test module is left out as soon as its declaration is: it is not in `code`.
fn modules() -> BTreeMap<Module, Source> {
    let module = |source: &Source| -> Module {
        let path = source.path.trim_start_matches("src/").trim_end_matches(".rs").trim_end_matches("/mod");
        if path == "lib" { Module::new() } else { path.split('/').map(str::to_owned).collect() }
    };
    let mut all: BTreeMap<Module, Source> = sources(&["src"]).into_iter().map(|s| (module(&s), s)).collect();
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

/// The paths of a tree of `use`: `a::{b, c::{self, d as e}}` has three.
fn expand(tree: &str) -> Vec<String> {
    let Some((head, group)) = tree.split_once('{') else {
        return tree.split_whitespace().next().map(str::to_owned).into_iter().collect();
    };
    let (head, parts) = (head.trim(), split_group(group).into_iter().filter(|part| !part.trim().is_empty()));
    parts.flat_map(expand).map(|path| format!("{head}{path}")).collect()
}

/// The paths that code names, with their places in it: those of `use`, and those from `crate`, `self` and `super`.
fn paths(code: &str) -> Vec<(usize, String)> {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    let starts = |word: &str| -> Vec<usize> {
        let alone = |at: &usize| !code[..*at].ends_with(|c: char| part(c) || c == ':');
        code.match_indices(word).map(|(at, _)| at).filter(alone).collect()
    };
    let mut found = Vec::new();
    for at in starts("use ") {
        let rest = &code[at + "use ".len()..];
        found.extend(expand(rest.split(';').next().unwrap_or_default()).into_iter().map(|path| (at, path)));
    }
    let in_code = |at: &usize| !code[..*at].ends_with("use ");
    for at in ["crate::", "self::", "super::"].into_iter().flat_map(starts).filter(in_code) {
        let end = code[at..].find(|c: char| !part(c) && c != ':').map_or(code.len(), |end| at + end);
        found.push((at, code[at..end].to_owned()));
    }
    found
}

/// The module that a path in `from` leads to; none if it leads out of the crate.
fn resolve(from: &Module, path: &str, is_module: impl Fn(&[String]) -> bool) -> Option<Module> {
    let mut names = path.split("::").map(str::trim).filter(|name| !name.is_empty()).peekable();
    let mut at = from.clone();
    match names.peek().copied()? {
        "crate" => {
            names.next();
            at.clear();
        }
        "self" => {
            names.next();
        }
        "super" => {
            while names.next_if_eq(&"super").is_some() {
                at.pop();
            }
        }
        name => {
            at.push(name.to_owned());
            if !is_module(&at) {
                return None;
            }
            names.next();
        }
    }
    for name in names {
        at.push(name.to_owned());
        if !is_module(&at) {
            at.pop();
            break;
        }
    }
    Some(at)
}

/// Imports between the modules below one parent, by their names, with the places.
type Imports = BTreeMap<(String, String), Vec<String>>;

/// All imports, by the closest common parent of the two modules.
fn imports(modules: &BTreeMap<Module, Source>) -> BTreeMap<Module, Imports> {
    let mut found: BTreeMap<Module, Imports> = BTreeMap::new();
    for (module, source) in modules {
        for (at, path) in paths(&source.code) {
            let Some(other) = resolve(module, &path, |path| modules.contains_key(path)) else { continue };
            let common = module.iter().zip(&other).take_while(|(one, other)| one == other).count();
            if let (Some(from), Some(to)) = (module.get(common), other.get(common)) {
                let line = source.code[..at].matches('\n').count() + 1;
                let place = source.place(line, path);
                let places = found.entry(module[..common].to_vec()).or_default();
                places.entry((from.clone(), to.clone())).or_default().push(place);
            }
        }
    }
    found
}

/// The names that reach each other, in groups.
fn circles(imports: &Imports) -> BTreeSet<BTreeSet<&str>> {
    let reached = |from: &str| -> BTreeSet<&str> {
        let (mut reached, mut open) = (BTreeSet::new(), vec![from.to_owned()]);
        while let Some(name) = open.pop() {
            for (_, to) in imports.keys().filter(|(from, _)| *from == name) {
                if reached.insert(to.as_str()) {
                    open.push(to.clone());
                }
            }
        }
        reached
    };
    let reach: BTreeMap<&str, BTreeSet<&str>> =
        imports.keys().map(|(from, _)| (from.as_str(), reached(from))).collect();
    let circle = |name: &&str| -> BTreeSet<&str> {
        let back = |other: &&str| reach.get(other).is_some_and(|reached| reached.contains(name));
        reach[name].iter().copied().filter(back).collect()
    };
    reach.keys().map(circle).filter(|circle| !circle.is_empty()).collect()
}

#[test]
fn imports_have_no_circles() {
    let modules = modules();
    let mut faults = Vec::new();
    for (parent, imports) in imports(&modules) {
        for circle in circles(&imports) {
            let inside = |(from, to): &(String, String)| circle.contains(from.as_str()) && circle.contains(to.as_str());
            let names: Vec<&str> = circle.iter().copied().collect();
            faults.push(format!("in src/{}: {}", parent.join("/"), names.join(", ")));
            let places = imports.iter().filter(|(pair, _)| inside(pair)).flat_map(|(_, places)| places);
            faults.extend(places.map(|place| format!("    {place}")));
        }
    }
    none("Siblings import each other in one direction: move what both need to a file of its own.", faults);
}

#[test]
fn circles_are_found() {
    let source = |path: &str, code: &str| Source { path: path.to_owned(), text: String::new(), code: code.to_owned() };
    let module = |path: &str| path.split('/').map(str::to_owned).collect::<Module>();
    let modules: BTreeMap<Module, Source> = [
        ("a", "mod b; mod c; pub use b::{B, deep::{self, D as E}};"),
        ("a/b", "use super::c::{C};\nuse std::fmt;"),
        ("a/b/deep", "use super::super::Parent; fn f() { crate::a::d::g() }"),
        ("a/c", "use super::Parent; use self::C as D; fn f() { super::d::g() }"),
        ("a/d", "\nuse {\n  std::mem,\n  crate::a::b::deep::D,\n};"),
    ]
    .into_iter()
    .map(|(path, code)| (module(path), source(path, code)))
    .collect();
    assert_eq!(expand("a::{b, c::{self, d as e}}"), ["a::b", "a::c::self", "a::c::d"]);
    let found = imports(&modules);
    assert_eq!(found.keys().cloned().collect::<Vec<_>>(), [module("a")]);
    let pairs = &found[&module("a")];
    let names: Vec<(&str, &str)> = pairs.keys().map(|(from, to)| (from.as_str(), to.as_str())).collect();
    assert_eq!(names, [("b", "c"), ("b", "d"), ("c", "d"), ("d", "b")]);
    assert_eq!(pairs[&("d".to_owned(), "b".to_owned())][0], "a/d:2: crate::a::b::deep::D");
    assert_eq!(circles(pairs), BTreeSet::from([BTreeSet::from(["b", "c", "d"])]));
}
