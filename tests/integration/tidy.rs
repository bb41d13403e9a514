//! Enforces the rules in ARCHITECTURE.md that a test can check. A failure lists all violations, one per line.
//!
//! [`Source::read`] separates code from comments and strings. It parses only the Rust syntax that this requires. The
//! rules about code do not apply to code under `#[cfg(test)]`.

mod circles;
mod documents;
mod functions;
mod paths;

use std::path::{Path, PathBuf};

/// A source file.
struct Source {
    /// Path from the root of the repository.
    path: String,
    text: String,
    /// The text with all characters of comments, strings and test modules replaced by blanks; line numbers are
    /// unchanged.
    code: String,
}

/// The modules of the library and of `einsum-local` that each module may import; every module has a row.
const IMPORTS: [(&str, &str); 18] = [
    ("sync", ""),
    ("dims", ""),
    ("dtype", ""),
    ("machine", ""),
    ("distribution", "dims"),
    ("tree", "dims"),
    ("local_plan", "dims dtype"),
    ("schedule", "dims dtype distribution machine local_plan"),
    ("algorithm", "dims dtype distribution machine local_plan schedule"),
    ("timeline", "schedule"),
    ("plan", "dims dtype distribution machine local_plan tree schedule algorithm timeline"),
    ("report", "dims schedule plan tree"),
    ("kernel", "dims dtype local_plan"),
    ("memory", "sync dtype distribution kernel"),
    ("comm", "sync dtype distribution memory"),
    ("io", "dtype distribution"),
    ("exec", "sync dims dtype distribution machine local_plan schedule timeline plan report kernel memory comm io"),
    (
        "api",
        "sync dims dtype distribution machine local_plan tree schedule algorithm timeline plan report kernel memory comm io exec",
    ),
];

/// Modules that contain only plain values, without tensor data, threads or communication.
const PURE: [&str; 11] = [
    "dims",
    "dtype",
    "machine",
    "distribution",
    "tree",
    "local_plan",
    "schedule",
    "algorithm",
    "timeline",
    "plan",
    "report",
];

/// The sources of the library and of the crate that contains its kernels.
const CORE: [&str; 2] = ["src", "local/src"];

/// Folders in which `unsafe` is allowed.
const UNSAFE: [&str; 7] =
    ["libxsmm-sys/", "local/src/kernel/", "src/memory/", "src/comm/", "python/src/", "capi/src/", "pxgemm/src/"];

const MAX_LINES: usize = 600;
const MAX_MEDIAN_LINES: usize = 200;

impl Source {
    fn read(path: &Path) -> Source {
        let text = std::fs::read_to_string(path).unwrap();
        let path = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
        Source { path, code: without_tests(&only_code(&text)), text }
    }

    /// The module that the file belongs to; `None` for `lib.rs` and files outside [`CORE`].
    fn module(&self) -> Option<&str> {
        let inside = self.path.strip_prefix("local/").unwrap_or(&self.path).strip_prefix("src/")?;
        let name = inside.split(['/', '.']).next()?;
        (name != "lib").then_some(name)
    }

    /// Numbers of the lines, from 1, whose code contains `word` as a complete name.
    fn lines_with<'a>(&'a self, word: &'a str) -> impl Iterator<Item = usize> + 'a {
        self.code.lines().enumerate().filter(move |(_, line)| has_word(line, word)).map(|(at, _)| at + 1)
    }

    fn place(&self, line: usize, what: impl std::fmt::Display) -> String {
        format!("{}:{line}: {what}", self.path)
    }

    /// Names that follow `crate::`, a chain of `super::` that reaches the root, or `einsum_local::`, with their line numbers.
    fn imports(&self) -> Vec<(usize, String)> {
        let path = self.path.strip_prefix("local/").unwrap_or(&self.path);
        let parts = path.trim_end_matches(".rs").trim_end_matches("/mod").split('/').count();
        let to_root = "super::".repeat(parts - 1);
        let mut found = Vec::new();
        for prefix in ["crate::", to_root.as_str(), "einsum_local::"] {
            for (at, _) in self.code.match_indices(prefix) {
                if self.code[..at].ends_with([':', '_']) || self.code[..at].ends_with(char::is_alphanumeric) {
                    continue;
                }
                let line = self.code[..at].matches('\n').count() + 1;
                let rest = &self.code[at + prefix.len()..];
                found.extend(first_names(rest).into_iter().map(|name| (line, name)));
            }
        }
        found
    }
}

/// Returns the first segment of each path in a `use` tree: one for `distribution::Region`, two for
/// `{dims::Label, distribution}`.
fn first_names(path: &str) -> Vec<String> {
    let name = |text: &str| -> String {
        let text = text.trim_start();
        text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let Some(group) = path.strip_prefix('{') else { return vec![name(path)] };
    split_group(group).into_iter().map(name).filter(|name| !name.is_empty()).collect()
}

/// The members of a group in braces. `group` starts after the opening brace.
fn split_group(group: &str) -> Vec<&str> {
    let (mut depth, mut start, mut members) = (0, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                members.push(&group[start..at]);
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                members.push(&group[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    members
}

fn has_word(line: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    let ends = |rest: &str| !word.ends_with(part) || !rest.starts_with(part);
    line.match_indices(word).any(|(at, _)| !line[..at].ends_with(part) && ends(&line[at + word.len()..]))
}

/// Replaces comments and the contents of strings by blanks.
fn only_code(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (skip, keep) = if rest.starts_with("//") {
            (rest.find('\n').unwrap_or(rest.len()), false)
        } else if rest.starts_with("/*") {
            (rest.find("*/").map_or(rest.len(), |at| at + 2), false)
        } else if let Some(hashes) = raw_string(rest, &code) {
            let end = format!("\"{}", "#".repeat(hashes));
            let open = rest.find('"').map_or(0, |at| at + 1);
            (rest[open..].find(&end).map_or(rest.len(), |at| open + at + end.len()), false)
        } else if first == '"' {
            (quoted(rest, '"'), false)
        } else if first == '\'' && is_character(rest) {
            (quoted(rest, '\''), false)
        } else {
            (first.len_utf8(), true)
        };
        let (piece, after) = rest.split_at(skip);
        if keep {
            code.push_str(piece);
        } else {
            code.extend(piece.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        }
        rest = after;
    }
    code
}

/// Number of hashes (`#`) in the opening of a raw string, if one starts at `rest`.
fn raw_string(rest: &str, before: &str) -> Option<usize> {
    let inner = rest.strip_prefix("br").or_else(|| rest.strip_prefix('r'))?;
    let hashes = inner.len() - inner.trim_start_matches('#').len();
    let starts = inner[hashes..].starts_with('"') && !before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
    starts.then_some(hashes)
}

/// Length of a literal, including its quotes.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// Whether a quote starts a character literal rather than a lifetime.
fn is_character(rest: &str) -> bool {
    let mut inside = rest.chars().skip(1);
    inside.next() == Some('\\') || inside.next() == Some('\'')
}

/// Replaces `#[cfg(test)] mod name { .. }` by blanks.
fn without_tests(code: &str) -> String {
    let mut kept = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(at) = rest.find("#[cfg(test)]") {
        let open = rest[at..].find(['{', ';']).map_or(rest.len(), |open| at + open);
        let (mut depth, mut end) = (0, rest.len());
        for (place, c) in rest[open..].char_indices() {
            depth += i32::from(c == '{') - i32::from(c == '}');
            if depth == 0 {
                end = open + place + 1;
                break;
            }
        }
        kept.push_str(&rest[..at]);
        kept.extend(rest[at..end].chars().filter(|c| *c == '\n'));
        rest = &rest[end..];
    }
    kept + rest
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The Rust files in these folders of the repository, sorted by path.
fn sources(folders: &[&str]) -> Vec<Source> {
    let mut waiting: Vec<PathBuf> = folders.iter().map(|folder| root().join(folder)).collect();
    let mut files = Vec::new();
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            waiting.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files.iter().map(|path| Source::read(path)).collect()
}

const LIBRARIES: [&str; 9] =
    ["src", "cli/src", "local/src", "parser/src", "path/src", "libxsmm-sys", "python/src", "capi/src", "pxgemm/src"];
const EVERYTHING: [&str; 18] = [
    "capi/src",
    "capi/tests",
    "src",
    "cli/src",
    "local/build.rs",
    "local/src",
    "parser/src",
    "parser/tests",
    "path/src",
    "path/tests",
    "libxsmm-sys",
    "pxgemm/src",
    "python/src",
    "tests",
    "benches",
    "examples",
    "fuzz/src",
    "fuzz/targets",
];

#[track_caller]
fn none(rule: &str, faults: Vec<String>) {
    assert!(faults.is_empty(), "{rule}\n\n  {}\n", faults.join("\n  "));
}

#[test]
fn imports_go_one_way() {
    let mut faults = Vec::new();
    for source in sources(&CORE) {
        let Some(module) = source.module() else { continue };
        let Some((_, allowed)) = IMPORTS.iter().find(|(name, _)| *name == module) else {
            faults.push(format!("{}: the module `{module}` has no row in IMPORTS of {}", source.path, file!()));
            continue;
        };
        let modules = || IMPORTS.iter().map(|(name, _)| *name);
        for (line, name) in source.imports() {
            // A name that is not a module is a macro or a re-export of the root, which modules must not use.
            let fine = name == module || allowed.split(' ').any(|allowed| allowed == name);
            if !fine && modules().any(|known| known == name) {
                faults.push(source.place(line, format!("`{module}` imports `{name}`; it may import: {allowed}")));
            } else if !fine {
                faults.push(source.place(line, format!("`crate::{name}`: import it from its own module")));
            }
        }
    }
    none(
        "Imports go one way: parser <- tree, dims <- distribution, machine, local_plan <- .. <- plan <- exec <- api <- cli.",
        faults,
    );
}

#[test]
fn planning_is_pure() {
    let forbidden = ["mpi", "rayon", "ndarray", "npyz"];
    let mut faults = Vec::new();
    for source in sources(&CORE).iter().filter(|source| source.module().is_some_and(|m| PURE.contains(&m))) {
        for name in forbidden {
            let path = format!("{name}::");
            let lines = source.lines_with(&path);
            faults.extend(lines.map(|line| source.place(line, format!("uses the crate `{name}`"))));
        }
    }
    none("Everything up to `plan` is a plain value: no data, no threads, no MPI.", faults);
}

#[test]
fn mpi_is_called_in_comm_only() {
    // These paths are allowed. They are our own module `comm::mpi`, and the types of communicators that users pass.
    let ours = ["comm::mpi::", "mpi::raw::AsRaw", "mpi::ffi::MPI_Comm>"];
    let mut faults = Vec::new();
    for source in
        sources(&["src", "cli/src", "local/src"]).iter().filter(|source| !source.path.starts_with("src/comm/"))
    {
        for (at, line) in source.code.lines().enumerate() {
            let rest = ours.iter().fold(line.to_owned(), |rest, allowed| rest.replace(allowed, ""));
            if rest.contains("MPI_") || has_word(&rest, "mpi::") {
                faults.push(source.place(at + 1, line.trim()));
            }
        }
    }
    none("MPI is called in `comm` only.", faults);
}

#[test]
fn unsafe_code_is_where_it_may_be() {
    let mut faults = Vec::new();
    for source in sources(&EVERYTHING) {
        let library = LIBRARIES.iter().any(|folder| source.path.starts_with(folder));
        if library && !UNSAFE.iter().any(|folder| source.path.starts_with(folder)) {
            faults.extend(source.lines_with("unsafe").map(|line| source.place(line, "unsafe code")));
        }
    }
    none("`unsafe` belongs into libxsmm-sys, kernel, memory and comm.", faults);
}

/// Whether there is a safety comment above the line, above the statement that contains it, or above its group of
/// `unsafe` lines.
fn has_safety_comment(lines: &[&str], code: &[&str], at: usize) -> bool {
    let comment = |line: &str| line.contains("SAFETY:") || line.contains("# Safety");
    for above in (0..=at).rev() {
        if comment(lines[above]) {
            return true;
        }
        let statement = code[above].trim();
        let ends = statement.ends_with([';', '{', '}']) && !has_word(statement, "unsafe");
        if lines[above].trim().is_empty() || (above < at && ends) {
            return false;
        }
    }
    false
}

#[test]
fn unsafe_code_says_why() {
    let mut faults = Vec::new();
    for source in sources(&LIBRARIES) {
        let (lines, code): (Vec<&str>, Vec<&str>) = (source.text.lines().collect(), source.code.lines().collect());
        for line in source.lines_with("unsafe") {
            let text = code[line - 1];
            // Function types and extern declarations need no safety comment.
            let declares = text.contains("unsafe fn(") || text.contains("unsafe extern") || text.contains("unsafe_");
            // Safety comments of a trait also apply to its methods and implementations.
            let opens = |above: &str| has_word(above, "impl") || has_word(above, "trait");
            let block = code[..line].iter().rposition(|above| opens(above) && above.ends_with('{'));
            let inherits = |at: usize| code[at].contains(" for ") || has_safety_comment(&lines, &code, at);
            let declares = declares || text.contains("unsafe fn") && block.is_some_and(inherits);
            if !declares && !has_safety_comment(&lines, &code, line - 1) {
                faults.push(source.place(line, text.trim()));
            }
        }
    }
    none("Every unsafe block and impl has a SAFETY comment above it, every unsafe fn a `# Safety` section.", faults);
}

#[test]
fn every_file_says_what_it_is() {
    let undocumented = |source: &Source| !source.text.starts_with("//! ");
    let faults = sources(&EVERYTHING).into_iter().filter(undocumented).map(|source| source.path).collect();
    none("Every file starts with a `//!` comment.", faults);
}

#[test]
fn examples_use_public_items() {
    let hidden = IMPORTS.iter().map(|(module, _)| *module).filter(|module| *module != "sync");
    let hidden: Vec<String> = hidden.map(|module| format!("{module}::")).collect();
    let mut faults = Vec::new();
    for source in sources(&CORE) {
        for (at, line) in source.text.lines().enumerate().filter(|(_, line)| line.trim_start().starts_with("//")) {
            if line.contains("use einsum_dist::") && hidden.iter().any(|module| has_word(line, module)) {
                faults.push(source.place(at + 1, line.trim()));
            }
        }
    }
    none("Examples compile without the feature `internals`.", faults);
}

#[test]
fn files_are_short() {
    let all = sources(&EVERYTHING);
    let lines = |source: &Source| source.text.lines().count();
    let long = all.iter().filter(|source| lines(source) > MAX_LINES);
    none(
        &format!("No file has more than {MAX_LINES} lines."),
        long.map(|source| source.place(lines(source), "lines")).collect(),
    );
    let mut lengths: Vec<usize> = sources(&LIBRARIES).iter().map(lines).collect();
    lengths.sort_unstable();
    let median = lengths[lengths.len() / 2];
    assert!(median < MAX_MEDIAN_LINES, "The median file has fewer than {MAX_MEDIAN_LINES} lines, it has {median}.");
}

#[test]
fn nothing_is_left_open() {
    // The words are split so that this file passes its own test.
    let words = [
        concat!("to", "do!"),
        concat!("unimple", "mented!"),
        concat!("FIX", "ME"),
        concat!("for", " now"),
        concat!("XX", "X"),
    ];
    let mut faults = Vec::new();
    for source in sources(&EVERYTHING).iter().filter(|source| source.path != "tests/integration/tidy.rs") {
        for (at, line) in source.text.lines().enumerate() {
            let open = words.iter().find(|word| line.contains(**word));
            faults.extend(open.map(|word| source.place(at + 1, format!("`{word}`"))));
        }
    }
    none("Nothing is left open in the code; what is absent is said in the module docs or in README.md.", faults);
}

#[test]
fn failures_are_errors() {
    let mut faults = Vec::new();
    for source in sources(&LIBRARIES).into_iter().filter(|source| !source.path.ends_with("tests.rs")) {
        let unwraps = source.code.lines().enumerate().filter(|(_, line)| line.contains(".unwrap()"));
        faults.extend(unwraps.map(|(at, line)| source.place(at + 1, line.trim())));
    }
    none("No `.unwrap()` outside tests: return an error, or `expect` with the reason why it cannot happen.", faults);
}

/// If standard error cannot be written, `eprintln!` panics, and so does the report of that panic.
#[test]
fn standard_error_may_be_gone() {
    let mut faults = Vec::new();
    for source in sources(&["src", "cli/src", "local/src", "parser/src", "path/src"]) {
        for word in ["eprintln!", "eprint!", "println!", "print!"] {
            faults.extend(source.lines_with(word).map(|line| source.place(line, word)));
        }
    }
    none("The program prints by `say!` and `write_out`, libraries by `writeln!` whose failure they ignore.", faults);
}

#[test]
fn the_code_map_is_complete() {
    let map = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let found = |path: &str| CORE.iter().any(|folder| root().join(folder).join(path).exists());
    let missing = IMPORTS.iter().filter(|(name, _)| {
        let exists = found(name) || found(&format!("{name}.rs"));
        let mapped = map.contains(&format!("`{name}/`")) || map.contains(&format!("`{name}.rs`"));
        !exists || !mapped
    });
    none("Every module is there and in the code map of ARCHITECTURE.md.", missing.map(|m| m.0.to_owned()).collect());
    // Every path of a Rust file that is in backticks and contains a folder must exist in the repository.
    let named = map.split('`').skip(1).step_by(2).filter(|name| name.contains('/') && name.ends_with(".rs"));
    let gone = named.filter(|name| !root().join(name).exists() && !found(name));
    none("Files that ARCHITECTURE.md names exist.", gone.map(str::to_owned).collect());
}

#[test]
fn code_is_told_from_comments_and_strings() {
    let text = "let a = \"x // unsafe\\\"\"; // unsafe\nlet b = 'u'; let c: &'a str = r#\"crate::x\"#;\n#[cfg(test)]\nmod t {\n y { } }\nz";
    assert_eq!(only_code("a/* b */c"), "a       c");
    let code = without_tests(&only_code(text));
    assert!(!code.contains("unsafe") && !code.contains("crate") && !code.contains('y'), "{code}");
    assert!(code.contains("&'a str") && code.ends_with("\nz"), "{code}");
    assert_eq!(code.lines().count(), text.lines().count());
    assert_eq!(first_names("{dims::{Kind, Label}, dist}; x"), ["dims", "dist"]);
    assert_eq!(first_names("plan::Plan;"), ["plan"]);
    assert!(has_word("pub unsafe fn", "unsafe") && !has_word("not_unsafe", "unsafe"));
}
