//! Tests the length of functions.

use super::{EVERYTHING, has_word, none, sources};

/// Maximum number of lines of a function, from its name to its closing brace.
const LONGEST: usize = 80;

#[test]
fn functions_are_short() {
    let mut faults = Vec::new();
    for source in sources(&EVERYTHING) {
        let lines: Vec<&str> = source.code.lines().collect();
        for first in (0..lines.len()).filter(|&at| has_word(lines[at], "fn") && lines[at].contains('(')) {
            // A semicolon ends a declaration without a body, unless it is inside an array type.
            let mut depth = 0;
            let end = (first..lines.len()).find(|&at| {
                let ends = |c: char| {
                    depth += i32::from("([{".contains(c)) - i32::from(")]}".contains(c));
                    depth == 0 && ['}', ';'].contains(&c)
                };
                lines[at].chars().any(ends)
            });
            let length = end.map_or(0, |end| end + 1 - first);
            if length > LONGEST {
                faults.push(source.place(first + 1, format!("{length} lines: {}", lines[first].trim())));
            }
        }
    }
    none(&format!("No function has more than {LONGEST} lines."), faults);
}
