//! Tests that there are no import cycles. If a file or folder of `src`, `cli/src` or `local/src` imports a
//! sibling in the same folder, that sibling must not import it back, directly or through other siblings.
//!
//! A module may import from its parent's file, and a parent may import from its children. Any other import is treated
//! as an import between two siblings. The siblings are those children of the closest common parent that contain the two
//! modules. A path is resolved through all `use` declarations, so an item that a parent re-exports counts as an import
//! of the file that defines it.

use std::collections::{BTreeMap, BTreeSet};

use super::none;
use super::paths::{Module, Modules, paths};

/// Imports between the child modules of one parent module. Maps the names of an importing and an imported child to the
/// source lines of the imports.
type Imports = BTreeMap<(String, String), BTreeSet<String>>;

/// All imports, grouped by the closest common parent of the importing and the imported module.
fn imports(modules: &Modules) -> BTreeMap<Module, Imports> {
    let mut found: BTreeMap<Module, Imports> = BTreeMap::new();
    for (module, source) in &modules.sources {
        let named = paths(&source.code).into_iter();
        let named =
            named.flat_map(|(at, path)| modules.resolve(module, &path).into_iter().map(move |m| (at, path.clone(), m)));
        for (at, path, other) in named {
            let common = module.iter().zip(&other).take_while(|(one, other)| one == other).count();
            if let (Some(from), Some(to)) = (module.get(common), other.get(common)) {
                let line = source.code[..at].matches('\n').count() + 1;
                let place = source.place(line, path);
                let places = found.entry(module[..common].to_vec()).or_default();
                places.entry((from.clone(), to.clone())).or_default().insert(place);
            }
        }
    }
    found
}

/// Groups of names that import each other, directly or indirectly.
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
    let mut faults = Vec::new();
    for folder in ["src", "cli/src", "local/src"] {
        faults.extend(faults_of(folder, &Modules::of_crate(folder)));
    }
    none("Siblings do not import each other in both directions: move what both need to a file of its own.", faults);
}

fn faults_of(folder: &str, modules: &Modules) -> Vec<String> {
    let mut faults = Vec::new();
    for (parent, imports) in imports(modules) {
        for circle in circles(&imports) {
            let inside = |(from, to): &(String, String)| circle.contains(from.as_str()) && circle.contains(to.as_str());
            let names: Vec<&str> = circle.iter().copied().collect();
            faults.push(format!("in {folder}/{}: {}", parent.join("/"), names.join(", ")));
            let places = imports.iter().filter(|(pair, _)| inside(pair)).flat_map(|(_, places)| places);
            faults.extend(places.map(|place| format!("    {place}")));
        }
    }
    faults
}

#[test]
fn circles_are_found() {
    let modules = Modules::of_code(&[
        ("a", "mod b; mod c; pub use b::{B, deep::{self, D as E}}; use c::C;"),
        ("a/b", "use super::c::{C};\nuse std::fmt;"),
        ("a/b/deep", "use super::super::Parent; fn f() { crate::a::d::g() }"),
        ("a/c", "use super::Parent; use self::C as D; fn f() { super::d::g() }"),
        ("a/d", "\nuse {\n  std::mem,\n  crate::a::b::deep::D,\n};"),
        ("a/e", "use super::C;"),
    ]);
    let found = imports(&modules);
    let a = vec!["a".to_owned()];
    assert_eq!(found.keys().collect::<Vec<_>>(), [&a]);
    let names: Vec<(&str, &str)> = found[&a].keys().map(|(from, to)| (from.as_str(), to.as_str())).collect();
    assert_eq!(names, [("b", "c"), ("b", "d"), ("c", "d"), ("d", "b"), ("e", "c")]);
    let places = &found[&a][&("d".to_owned(), "b".to_owned())];
    assert_eq!(places.first().unwrap(), "a/d:2: crate::a::b::deep::D");
    assert_eq!(circles(&found[&a]), BTreeSet::from([BTreeSet::from(["b", "c", "d"])]));
}
