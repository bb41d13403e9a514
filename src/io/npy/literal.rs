//! Parses Python literals in `.npy` headers, like NumPy's `ast.literal_eval` without Python 2's suffix `L`.
//!
//! Strings may have the prefix `u` and are joined if adjacent; white space, line ends and comments separate tokens.
//! Cost: O(length of the text). Deeper nesting than [`MAX_DEPTH`] is an error, because it could overflow the stack.

use std::iter::Peekable;
use std::str::Chars;

/// Beyond any valid header.
const MAX_DEPTH: usize = 32;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Literal {
    Text(String),
    /// `None` if it is negative or exceeds 64 bits.
    Whole(Option<u64>),
    Bool(bool),
    None,
    Tuple(Vec<Literal>),
    List(Vec<Literal>),
    Dict(Vec<(Literal, Literal)>),
}

impl Literal {
    /// # Errors
    /// If the text is no supported literal.
    pub fn parse(text: &str) -> Result<Literal, String> {
        let mut reader = Reader { rest: text.chars().peekable() };
        let value = reader.value(0)?;
        match reader.next_token() {
            None => Ok(value),
            Some(other) => Err(format!("`{}` follows its end", other.escape_debug())),
        }
    }
}

struct Reader<'a> {
    rest: Peekable<Chars<'a>>,
}

impl Reader<'_> {
    fn next_token(&mut self) -> Option<char> {
        loop {
            match self.rest.peek()? {
                '#' => while self.rest.next_if(|&c| c != '\n').is_some() {},
                c if c.is_ascii_whitespace() => drop(self.rest.next()),
                &c => return Some(c),
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Literal, String> {
        if depth > MAX_DEPTH {
            return Err("it nests too deeply".into());
        }
        match self.next_token().ok_or("it ends early")? {
            '\'' | '"' => self.strings(),
            '(' => self.tuple(depth),
            '[' => Ok(Literal::List(self.items(']', depth)?.0)),
            '{' => self.dict(depth),
            '+' | '-' | '0'..='9' => self.whole(),
            c if c.is_ascii_alphabetic() => self.word(),
            c => Err(format!("`{}` is out of place", c.escape_debug())),
        }
    }

    fn tuple(&mut self, depth: usize) -> Result<Literal, String> {
        let (mut items, commas) = self.items(')', depth)?;
        match (items.len(), commas) {
            (1, false) => Ok(items.swap_remove(0)),
            _ => Ok(Literal::Tuple(items)),
        }
    }

    fn items(&mut self, close: char, depth: usize) -> Result<(Vec<Literal>, bool), String> {
        self.rest.next();
        let (mut items, mut commas) = (Vec::new(), false);
        loop {
            if self.next_token() == Some(close) {
                self.rest.next();
                return Ok((items, commas));
            }
            items.push(self.value(depth + 1)?);
            commas |= self.comma_or(close)?;
        }
    }

    fn dict(&mut self, depth: usize) -> Result<Literal, String> {
        self.rest.next();
        let mut entries = Vec::new();
        loop {
            if self.next_token() == Some('}') {
                self.rest.next();
                return Ok(Literal::Dict(entries));
            }
            let key = self.value(depth + 1)?;
            if self.next_token() != Some(':') {
                return Err("a key has no value".into());
            }
            self.rest.next();
            entries.push((key, self.value(depth + 1)?));
            self.comma_or('}')?;
        }
    }

    fn comma_or(&mut self, close: char) -> Result<bool, String> {
        match self.next_token() {
            Some(',') => {
                self.rest.next();
                Ok(true)
            }
            Some(c) if c == close => Ok(false),
            Some(c) => Err(format!("`{}` is out of place", c.escape_debug())),
            None => Err("it ends early".into()),
        }
    }

    fn strings(&mut self) -> Result<Literal, String> {
        let mut text = String::new();
        while let Some(quote @ ('\'' | '"')) = self.next_token() {
            self.rest.next();
            self.string(quote, &mut text)?;
        }
        Ok(Literal::Text(text))
    }

    fn string(&mut self, quote: char, text: &mut String) -> Result<(), String> {
        loop {
            match self.rest.next().ok_or("a string does not end")? {
                c if c == quote => return Ok(()),
                '\n' => return Err("a string does not end".into()),
                '\\' => match self.rest.next().ok_or("a string does not end")? {
                    'n' => text.push('\n'),
                    't' => text.push('\t'),
                    'r' => text.push('\r'),
                    'x' => text.push(self.code(2)?),
                    'u' => text.push(self.code(4)?),
                    'U' => text.push(self.code(8)?),
                    c @ ('\\' | '\'' | '"') => text.push(c),
                    '\n' => {}
                    other => text.extend(['\\', other]),
                },
                c => text.push(c),
            }
        }
    }

    fn code(&mut self, digits: usize) -> Result<char, String> {
        let mut code = 0;
        for _ in 0..digits {
            let digit = self.rest.next().and_then(|c| c.to_digit(16)).ok_or("an escape sequence is not complete")?;
            code = (code << 4) | digit;
        }
        // Rust has no lone surrogates, unlike Python.
        Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn whole(&mut self) -> Result<Literal, String> {
        let negative = self.rest.next_if(|&c| c == '+' || c == '-') == Some('-');
        let mut digits = String::new();
        while let Some(c) = self.rest.next_if(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.')) {
            digits.push(c);
        }
        let wrong = || format!("`{digits}` is no whole number");
        let plain = digits.strip_suffix('L').unwrap_or(&digits);
        let (radix, plain) = match plain.get(..2) {
            Some("0x" | "0X") => (16, &plain[2..]),
            Some("0o" | "0O") => (8, &plain[2..]),
            Some("0b" | "0B") => (2, &plain[2..]),
            _ => (10, plain),
        };
        // A single underscore may separate two digits, or follow a prefix such as `0x`.
        let grouped = if radix == 10 { plain } else { plain.strip_prefix('_').unwrap_or(plain) };
        let groups_are_digits =
            grouped.split('_').all(|group| !group.is_empty() && group.chars().all(|c| c.is_digit(radix)));
        let plain = grouped.replace('_', "");
        // Python 2 reads `012` as an octal number, but Python 3 rejects it.
        let octal = radix == 10 && plain.starts_with('0') && plain.bytes().any(|digit| digit != b'0');
        if !groups_are_digits || octal {
            return Err(wrong());
        }
        let magnitude = u64::from_str_radix(&plain, radix).ok();
        Ok(Literal::Whole(magnitude.filter(|&magnitude| !negative || magnitude == 0)))
    }

    fn word(&mut self) -> Result<Literal, String> {
        let mut word = String::new();
        while let Some(c) = self.rest.next_if(|c| c.is_ascii_alphanumeric() || *c == '_') {
            word.push(c);
        }
        match (word.as_str(), self.rest.peek()) {
            ("u" | "U", Some('\'' | '"')) => self.strings(),
            ("True", _) => Ok(Literal::Bool(true)),
            ("False", _) => Ok(Literal::Bool(false)),
            ("None", _) => Ok(Literal::None),
            _ => Err(format!("`{word}` is out of place")),
        }
    }
}

#[cfg(test)]
mod tests;
