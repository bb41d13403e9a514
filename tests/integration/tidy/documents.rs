//! Tests the links in the documents. The file and the heading of every relative link must exist.

use std::path::{Path, PathBuf};

use einsum_dist::Machine;

use super::{none, root};

/// The documents in the root folder, in the book (`docs`) and in `data`.
fn documents() -> Vec<PathBuf> {
    let folders = [root(), root().join("docs"), root().join("data")];
    let files = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let mut files: Vec<PathBuf> = files.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    files.sort();
    files
}

/// The lines outside of code blocks.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut code = false;
    text.lines().enumerate().filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        !code && !fence
    })
}

/// The targets of the links in a line.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target)
}

/// The anchor of a heading, as GitHub and mdBook generate it.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || ['-', '_', ' '].contains(c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn has_anchor(path: &Path, wanted: &str) -> bool {
    let text = std::fs::read_to_string(path).unwrap();
    let headings = prose(&text).filter(|(_, line)| line.starts_with('#')).map(|(_, line)| line.trim_start_matches('#'));
    headings.into_iter().any(|heading| anchor(heading) == wanted)
}

#[test]
fn links_reach_what_they_name() {
    let mut faults = Vec::new();
    let mut seen = 0;
    for path in documents() {
        let text = std::fs::read_to_string(&path).unwrap();
        let folder = path.parent().unwrap();
        for (line, target) in prose(&text).flat_map(|(at, line)| links(line).map(move |target| (at + 1, target))) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            seen += 1;
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() { path.clone() } else { folder.join(file) };
            if !file.exists() || (!heading.is_empty() && !has_anchor(&file, heading)) {
                faults.push(format!("{}:{line}: {target}", path.strip_prefix(root()).unwrap().display()));
            }
        }
    }
    assert!(seen > 40, "only {seen} links found");
    none("A link reaches its file and heading.", faults);
}

/// The table of entries in docs/machines.md has every entry that a machine file may have, with its default.
#[test]
fn machine_files_are_documented() {
    let machine = Machine {
        node_link_bandwidth: Some(1.0),
        bisection_bandwidth: Some(1.0),
        topology: Some("core:1".parse().unwrap()),
        ..Machine::default()
    };
    let entries = serde_json::to_value(&machine).unwrap();
    let text = std::fs::read_to_string(root().join("docs/machines.md")).unwrap();
    let table = text.lines().skip_while(|line| !line.starts_with("| entry ")).skip(2);
    let rows = table.take_while(|line| line.starts_with('|'));
    let mut faults = Vec::new();
    let mut named: Vec<String> = Vec::new();
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [name, unit, _, default, predicted, simulated] = cells[..] else { panic!("{row}") };
        let name = name.trim_matches('`').to_owned();
        let number = default.split([',', ':']).next().and_then(|text| text.parse::<f64>().ok());
        if number.is_some() && number != entries[&name].as_f64() {
            faults.push(format!("{name} has the default {}", entries[&name]));
        }
        if unit.is_empty() || ![predicted, simulated].iter().all(|cell| ["yes", "no", "first runs"].contains(cell)) {
            faults.push(format!("{name} has no unit or effect"));
        }
        named.push(name);
    }
    let missing = entries.as_object().unwrap().keys().filter(|name| !named.contains(name));
    faults.extend(missing.map(|name| format!("{name} is missing")));
    faults.extend(named.iter().filter(|name| entries.get(name).is_none()).map(|name| format!("{name} is no entry")));
    for file in std::fs::read_dir(root().join("data/machines")).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        if !text.contains(&format!("(../data/machines/{name})")) {
            faults.push(format!("{name} is missing"));
        }
    }
    none("docs/machines.md describes every entry of machine files, and every file.", faults);
}

#[test]
fn the_book_has_every_chapter() {
    let summary = std::fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    let chapters = documents().into_iter().filter(|path| path.starts_with(root().join("docs")));
    let names = chapters.map(|path| path.file_name().unwrap().to_string_lossy().into_owned());
    let missing = names.filter(|name| name != "SUMMARY.md" && !summary.contains(&format!("({name})")));
    none("docs/SUMMARY.md lists every chapter.", missing.collect());
}
