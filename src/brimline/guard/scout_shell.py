"""A shell command line taken apart without a shell: words, operators, redirects, inner commands.

Tolerant on purpose: what is unbalanced or unfinished ends with the line, and nothing raises.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

# Stands in a word for text that only the running shell would know.
UNKNOWN = "\0"

_REDIRECT = re.compile(r"\d{0,3}(?:&>>|&>|<<<|<<-?|<>|<&|>&|>>|>\||>(?!\()|<(?!\())")
_CONTROL = re.compile(r"&&|\|\||\|&|;;|[;|&()]")
_PLAIN = re.compile(r"[^\s;|&()<>\\'\"`$]+")
_PLAIN_IN_QUOTES = re.compile(r"[^\"\\`$]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_END_OF_WORD = frozenset(" \t\r\n\v\f;|&()<>")
_BALANCE = re.compile(r"[()'\"\\]|<<-?[ \t]*['\"]?(\w+)['\"]?")
_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_BRACES = re.compile(r"\{([^{},]*(?:,[^{},]*)+)\}")
_MOST_ALTERNATIVES = 64
_MOST_BRACE_CHARACTERS = 4_096


class Token(NamedTuple):
    """A `word`, an `operator` or a `redirect`; a word carries the commands inside it."""

    kind: str
    text: str
    inner: tuple[str, ...] = ()


def tokens(line: str, variables: Mapping[str, str]) -> list[Token]:
    """Take a command line apart; known variables are filled in, here-documents left out."""
    return _Lexer(line, variables).run()


def alternatives(word: str) -> list[str]:
    """The words that `{a,b}` stands for; a bounded number of them."""
    if len(word) > _MOST_BRACE_CHARACTERS:
        return [word]
    pending = [word]
    done: list[str] = []
    while pending and len(pending) + len(done) < _MOST_ALTERNATIVES:
        text = pending.pop(0)
        match = _BRACES.search(text)
        if match is None:
            done.append(text)
            continue
        choices = match[1].split(",")[:_MOST_ALTERNATIVES]
        pending += [text[: match.start()] + choice + text[match.end() :] for choice in choices]
    return done + pending


class _Lexer:
    """One pass over a line, character class by character class."""

    def __init__(self, line: str, variables: Mapping[str, str]) -> None:
        self.text = line.replace(UNKNOWN, " ").replace("\\\n", "")
        self.variables = variables
        self.at = 0
        self.found: list[Token] = []
        self.delimiters: list[str] = []

    def run(self) -> list[Token]:
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == "\n":
                self._newline()
            elif char.isspace():
                self.at += 1
            elif char == "#":
                self.at = self._find("\n", self.at)
            elif match := _REDIRECT.match(self.text, self.at):
                self._token("redirect", match)
            elif match := _CONTROL.match(self.text, self.at):
                self._token("operator", match)
            else:
                self._word()
        return self.found

    def _token(self, kind: str, match: re.Match[str]) -> None:
        self.found.append(Token(kind, match[0]))
        self.at = match.end()

    def _newline(self) -> None:
        """End the command; the bodies of here-documents follow and are skipped."""
        self.found.append(Token("operator", "\n"))
        self.at += 1
        for delimiter in self.delimiters:
            while self.at < len(self.text):
                end = self._find("\n", self.at)
                body_line = self.text[self.at : end]
                self.at = end + 1
                if body_line.strip() == delimiter:
                    break
        self.delimiters = []

    def _word(self) -> None:
        pieces: list[str] = []
        inner: list[str] = []
        start = self.at
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in "<>" and self.text.startswith("(", self.at + 1):
                self.at += 1
                inner.append(self._parenthesised())
                pieces.append(UNKNOWN)
            elif char in _END_OF_WORD:
                break
            else:
                pieces.append(self._piece(inner))
        self.at = max(self.at, start + 1)
        word = "".join(pieces)
        if self.found and self.found[-1].kind == "redirect" and _heredoc(self.found[-1].text):
            self.delimiters.append(word)
        self.found.append(Token("word", word, tuple(inner)))

    def _piece(self, inner: list[str]) -> str:
        """One stretch of a word: plain, escaped, quoted, or to be filled in."""
        char = self.text[self.at]
        if char == "\\":
            self.at += 2
            return self.text[self.at - 1 : self.at]
        if char == "'":
            start, end = self.at + 1, self._find("'", self.at + 1)
            self.at = end + 1
            return self.text[start:end]
        if char == '"':
            return self._double_quoted(inner)
        if char in "$`":
            return self._substitution(inner)
        match = _PLAIN.match(self.text, self.at)
        self.at = match.end() if match else self.at + 1
        return match[0] if match else char

    def _double_quoted(self, inner: list[str]) -> str:
        self.at += 1
        pieces: list[str] = []
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == '"':
                self.at += 1
                break
            if char == "\\":
                self.at += 2
                pieces.append(self.text[self.at - 1 : self.at])
            elif char in "$`":
                pieces.append(self._substitution(inner))
            else:
                match = _PLAIN_IN_QUOTES.match(self.text, self.at)
                self.at = match.end() if match else self.at + 1
                pieces.append(match[0] if match else char)
        return "".join(pieces)

    def _substitution(self, inner: list[str]) -> str:
        """What `$name`, `${name}`, `$(command)` or a backtick stands for, as far as we know it."""
        if self.text[self.at] == "`":
            start, end = self.at + 1, self._find("`", self.at + 1)
            self.at = end + 1
            return self._command(self.text[start:end], inner)
        self.at += 1
        following = self.text[self.at : self.at + 1]
        if following == "(":
            return self._command(self._parenthesised(), inner)
        if following == "{":
            start, end = self.at + 1, self._find("}", self.at)
            self.at = end + 1
            return self.variables.get(self.text[start:end], UNKNOWN)
        if match := _NAME.match(self.text, self.at):
            self.at = match.end()
            return self.variables.get(match[0], UNKNOWN)
        if not following or following in "'\"" or following in _END_OF_WORD:
            return "" if following in ("'", '"') else "$"
        self.at += 1
        return UNKNOWN

    def _command(self, command: str, inner: list[str]) -> str:
        if command.strip() == "pwd":
            return self.variables.get("PWD", UNKNOWN)
        inner.append(command)
        return UNKNOWN

    def _parenthesised(self) -> str:
        """The text between the parenthesis we stand at and its partner, or the end of the line."""
        start = at = self.at + 1
        depth = 1
        while depth and (match := _BALANCE.search(self.text, at)):
            at = match.end()
            sign = match[0][0]
            depth += (sign == "(") - (sign == ")")
            if sign == "\\":
                at += 1
            elif sign == "'":
                at = self._past_quote(at)
            elif sign == '"':
                quoted = _QUOTED.match(self.text, match.start())
                at = quoted.end() if quoted else at
            elif match[1]:
                at = self._past_heredoc(match[1], at)
        self.at = min(at, len(self.text)) if depth == 0 else len(self.text)
        return self.text[start : self.at - 1 if depth == 0 else self.at]

    def _past_quote(self, at: int) -> int:
        end = self.text.find("'", at)
        return at if end < 0 else end + 1

    def _past_heredoc(self, delimiter: str, at: int) -> int:
        end = re.compile(rf"\n[ \t]*{delimiter}[ \t]*(?=[\n)]|\Z)").search(self.text, at)
        return end.end() if end else at

    def _find(self, text: str, at: int) -> int:
        end = self.text.find(text, at)
        return len(self.text) if end < 0 else end


def _heredoc(redirect: str) -> bool:
    return redirect.lstrip("0123456789") in ("<<", "<<-")
