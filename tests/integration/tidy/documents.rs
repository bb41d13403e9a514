//! Tests the links in the documents. The file and the heading of every relative link must exist.

use std::path::{Path, PathBuf};

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

#[test]
fn the_book_has_every_chapter() {
    let summary = std::fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    let chapters = documents().into_iter().filter(|path| path.starts_with(root().join("docs")));
    let names = chapters.map(|path| path.file_name().unwrap().to_string_lossy().into_owned());
    let missing = names.filter(|name| name != "SUMMARY.md" && !summary.contains(&format!("({name})")));
    none("docs/SUMMARY.md lists every chapter.", missing.collect());
}
