//! Parses tokens into an einsum_ir tree, where brackets without an arrow list names.
//!
//! A `[` directly before another `[` or an arrow opens a subtree; any other opens a list. An explicit stack has one
//! frame per open subtree. `brackets` has checked the balance, and `check` checks output labels later.

use crate::expression::Builder;
use crate::lexer::{Token, TokenKind};
use crate::{ErrorKind, Expression, Form, Index, NodeId, ParseError, Span, Term, lexer};

struct Frame {
    open: Span,
    inputs: Vec<NodeId>,
    /// The input since the last comma.
    input: Option<Span>,
    arrow: Option<Span>,
    output: Option<Term>,
}

impl Frame {
    fn new(open: Span) -> Self {
        Self { open, inputs: Vec::new(), input: None, arrow: None, output: None }
    }
}

struct Parser<'a> {
    text: &'a str,
    tokens: &'a [Token],
    next: usize,
    builder: Builder<'a>,
    /// The bracket that makes the text an einsum_ir tree.
    witness: Span,
}

pub(crate) fn parse(text: &str, tokens: &[Token], witness: Span) -> Result<Expression, ParseError> {
    Parser { text, tokens, next: 0, builder: Builder::new(text), witness }.tree()
}

impl Parser<'_> {
    fn tree(mut self) -> Result<Expression, ParseError> {
        let mut outer: Vec<Frame> = Vec::new();
        let mut frame = Frame::new(Span::at(0));
        while let Some(token) = self.take() {
            match token.kind {
                TokenKind::Word => return Err(self.bare_name(&frame, token.span)),
                TokenKind::Ellipsis => return Err(self.because(ErrorKind::EllipsisInIr, token.span)),
                TokenKind::Comma => {
                    if let Some(arrow) = frame.arrow {
                        let error = self.mistake(ErrorKind::SecondOutput, token.span);
                        return Err(error.relate(arrow, "the output starts here"));
                    }
                    if frame.input.take().is_none() {
                        return Err(self.mistake(ErrorKind::MissingOperand, token.span));
                    }
                    if self.peek().is_none() {
                        return Err(self.mistake(ErrorKind::TrailingComma, token.span));
                    }
                }
                TokenKind::Arrow => {
                    if let Some(arrow) = frame.arrow {
                        let error = self.mistake(ErrorKind::SecondArrow, token.span);
                        return Err(error.relate(arrow, "the first arrow"));
                    }
                    if frame.input.is_none() {
                        return Err(self.mistake(ErrorKind::MissingOperand, token.span));
                    }
                    frame.arrow = Some(token.span);
                }
                TokenKind::Open => {
                    let subtree = matches!(self.peek(), Some(TokenKind::Open | TokenKind::Arrow));
                    if let Some(arrow) = frame.arrow {
                        if frame.output.is_some() {
                            return Err(self.mistake(ErrorKind::TextAfterOutput, token.span));
                        }
                        if subtree {
                            let error = self.mistake(ErrorKind::BracketInOutput, token.span);
                            return Err(error.relate(arrow, "the output starts here"));
                        }
                        frame.output = Some(self.list(token.span)?);
                    } else if let Some(input) = frame.input {
                        let place = Span::at(input.end);
                        return Err(self.mistake(ErrorKind::MissingCommaBetweenBrackets, place));
                    } else if subtree {
                        outer.push(std::mem::replace(&mut frame, Frame::new(token.span)));
                    } else {
                        let term = self.list(token.span)?;
                        frame.input = Some(term.span);
                        frame.inputs.push(self.builder.operand(term));
                    }
                }
                TokenKind::Close => {
                    let span = frame.open.to(token.span);
                    let node = self.einsum(&mut frame, span, token.span)?;
                    // Brackets are balanced, so there is an outer frame.
                    let Some(parent) = outer.pop() else { break };
                    frame = parent;
                    frame.inputs.push(node);
                    frame.input = Some(span);
                }
            }
        }
        let whole = lexer::extent(self.tokens);
        if frame.arrow.is_none() {
            let wrapped = frame.input == Some(whole) && whole != self.witness;
            return Err(if wrapped {
                self.mistake(ErrorKind::BracketedWhole, whole)
            } else {
                self.because(ErrorKind::MissingOuterArrow, Span::at(whole.end))
            });
        }
        self.einsum(&mut frame, whole, Span::at(whole.end))?;
        Ok(self.builder.finish(Form::EinsumIr))
    }

    fn einsum(&mut self, frame: &mut Frame, span: Span, end: Span) -> Result<NodeId, ParseError> {
        let Some(arrow) = frame.arrow else {
            let error = self.mistake(ErrorKind::MissingArrowInBracket, end);
            return Err(error.relate(frame.open, "the bracket opens here"));
        };
        let Some(output) = frame.output.take() else {
            return Err(self.mistake(ErrorKind::MissingOutput, Span::at(arrow.end)));
        };
        Ok(self.builder.einsum(span, std::mem::take(&mut frame.inputs), Some(output)))
    }

    fn list(&mut self, open: Span) -> Result<Term, ParseError> {
        let mut indices: Vec<Index> = Vec::new();
        // A name must follow a comma, and the opening bracket unless the list is empty.
        let mut comma: Option<Span> = None;
        let mut due = true;
        while let Some(token) = self.take() {
            match token.kind {
                TokenKind::Word if due => {
                    self.check_name(token)?;
                    indices.push(self.builder.index(token.span));
                    due = false;
                }
                TokenKind::Word => {
                    let first = indices.last().map_or(open, |index| index.span);
                    let names = [first, token.span].map(|span| &self.text[span.start..span.end]);
                    let error = self.mistake(ErrorKind::SpaceInName, Span::new(first.end, token.span.start));
                    return Err(error.concerning(names));
                }
                TokenKind::Comma if due => return Err(self.mistake(ErrorKind::EmptyName, token.span)),
                TokenKind::Comma => {
                    comma = Some(token.span);
                    due = true;
                }
                TokenKind::Close => {
                    if let Some(comma) = comma.filter(|_| due) {
                        return Err(self.mistake(ErrorKind::TrailingCommaInList, comma));
                    }
                    return Ok(Term { span: open.to(token.span), indices });
                }
                TokenKind::Ellipsis => return Err(self.because(ErrorKind::EllipsisInIr, token.span)),
                TokenKind::Arrow => return Err(self.because(ErrorKind::ArrowAmongNames, token.span)),
                TokenKind::Open => {
                    let error = self.mistake(ErrorKind::BracketAmongNames, token.span);
                    return Err(error.relate(open, "the list of names opens here"));
                }
            }
        }
        // Brackets are balanced, so the list was closed above.
        Err(self.mistake(ErrorKind::UnclosedBracket, open))
    }

    fn check_name(&self, token: Token) -> Result<(), ParseError> {
        let name = token.of(self.text);
        let Some((at, bad)) = name.char_indices().find(|(_, c)| !c.is_alphanumeric() && *c != '_') else {
            return Ok(());
        };
        if let Some(arrow) = lexer::foreign_arrow(self.text, token.span) {
            return Err(self.mistake(ErrorKind::ForeignArrow, arrow));
        }
        let start = token.span.start + at;
        let place = Span::new(start, start + bad.len_utf8());
        Err(self.because(ErrorKind::BadNameCharacter, place).concerning([name]))
    }

    fn bare_name(&self, frame: &Frame, place: Span) -> ParseError {
        let kind = match (frame.arrow, &frame.output) {
            (None, _) => ErrorKind::BareName,
            (Some(_), None) => ErrorKind::BareOutput,
            (Some(_), Some(_)) => return self.mistake(ErrorKind::TextAfterOutput, place),
        };
        self.because(kind, place)
    }

    /// The error, with an einsum_ir example in place of help in another notation.
    fn mistake(&self, kind: ErrorKind, place: Span) -> ParseError {
        let error = ParseError::new(self.text, kind, place);
        let advice = match kind {
            ErrorKind::SecondArrow => "to contract step by step, bracket the first step: `[[a,b]->[b]],[b]->[]`",
            ErrorKind::MissingArrowInBracket | ErrorKind::MissingOuterArrow => {
                "every step ends in `->` and the list of its output's names: `[i,j],[j,k]->[i,k]`"
            }
            ErrorKind::TrailingComma => "drop it; `[]` is a 0-dimensional operand",
            ErrorKind::BareName if self.text[..self.witness.start].trim_end().ends_with("->") => {
                "drop the brackets around the output, or put the names of every operand in brackets"
            }
            _ => return error,
        };
        error.advise(advice.to_owned())
    }

    /// For mistakes that usually result from confusing two notations. Also marks `witness`, unless the mistake is
    /// inside.
    fn because(&self, kind: ErrorKind, place: Span) -> ParseError {
        let error = self.mistake(kind, place);
        if self.witness.contains(place) {
            return error;
        }
        error.relate(self.witness, "no arrow in here, which makes the whole text an einsum_ir tree")
    }

    fn take(&mut self) -> Option<Token> {
        let token = self.tokens.get(self.next).copied();
        self.next += 1;
        token
    }

    fn peek(&self) -> Option<TokenKind> {
        self.tokens.get(self.next).map(|token| token.kind)
    }
}
