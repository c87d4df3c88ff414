"""A shell command line as pipelines of words, without a shell. Pure.

Fast path: imports nothing. Tolerant on purpose: what is unbalanced ends with the line, and nothing
raises. Redirects, comments and the bodies of here-documents are left out; what only a running shell
would know stays in a word as `$`.
"""

from __future__ import annotations

_SPACE = " \t\r\v\f"
_ENDS_WORD = frozenset(_SPACE + "\n;|&()<>")


class Command:
    """The words of one simple command, and what becomes of its output."""

    __slots__ = ("piped", "redirected", "words")

    def __init__(self) -> None:
        self.words: list[str] = []
        self.redirected = False
        """Whether its output goes to a file."""
        self.piped = False
        """Whether its output goes to the next command."""


def pipelines(line: str) -> list[list[Command]]:
    """The commands of a line in order, those that are tied by pipes together."""
    found: list[list[Command]] = [[]]
    for command in _Lexer(line).run():
        found[-1].append(command)
        if not command.piped:
            found.append([])
    return [pipeline for pipeline in found if pipeline]


class _Lexer:
    """One pass over the line; every step moves on by at least one character."""

    def __init__(self, line: str) -> None:
        self.text = line
        self.at = 0
        self.command = Command()
        self.found: list[Command] = []
        self.delimiters: list[str] = []

    def run(self) -> list[Command]:
        while self.at < len(self.text):
            character = self.text[self.at]
            if character in _SPACE:
                self.at += 1
            elif character == "#":
                self.at = self._find("\n")
            elif character in "<>" or self._starts("&>"):
                self._redirect("")
            elif character in _ENDS_WORD:
                self._operator(character)
            else:
                self._word()
        self._end()
        return self.found

    def _operator(self, character: str) -> None:
        self.at += 1
        if character == "|" and not self._starts("|"):
            self.command.piped = True
        if character in "&|" and self._starts(("&", "|")):
            self.at += 1
        self._end()
        if character == "\n":
            self._skip_documents()

    def _end(self) -> None:
        if self.command.words:
            self.found.append(self.command)
        elif self.found and self.command.piped:
            self.found[-1].piped = True  # a group in parentheses feeds the pipe
        self.command = Command()

    def _word(self) -> None:
        word = self._read_word()
        if word.isdigit() and self.text[self.at : self.at + 1] in ("<", ">"):
            self._redirect(word)
        else:
            self.command.words.append(word)

    def _redirect(self, descriptor: str) -> None:
        """Step over a redirect and its target; note where it takes the output away."""
        start = self.at
        while self.at < len(self.text) and self.text[self.at] in "<>&|-" and self.at < start + 3:
            self.at += 1
        sign = self.text[start : self.at]
        if self._starts("("):
            self.at = self._closing(self.at + 1)
            return
        while self._starts(tuple(_SPACE)):
            self.at += 1
        target = self._read_word()
        if sign.startswith("<<") and sign != "<<<":
            self.delimiters.append(target)
        takes_output = ">" in sign and descriptor in ("", "1") and not sign.endswith(">&")
        self.command.redirected = self.command.redirected or takes_output

    def _read_word(self) -> str:
        pieces = []
        while self.at < len(self.text) and self.text[self.at] not in _ENDS_WORD:
            pieces.append(self._piece())
        return "".join(pieces)

    def _piece(self) -> str:
        """The next bit of a word: one character, or all that a quote or a substitution holds."""
        text, start = self.text, self.at
        character = text[start]
        self.at += 1
        if character == "\\":
            self.at += 1
            return text[start + 1 : start + 2].replace("\n", "")
        if character == "'":
            end = self._find("'")
            self.at = end + 1
            return text[start + 1 : end]
        if character == '"':
            return self._quoted()
        if character == "`":
            self.at = self._find("`") + 1
            return "$"
        if character == "$" and self._starts("("):
            self.at = self._closing(self.at + 1)
        return character

    def _quoted(self) -> str:
        pieces = []
        while self.at < len(self.text) and self.text[self.at] != '"':
            if self.text[self.at] == "'":
                pieces.append("'")
                self.at += 1
            else:
                pieces.append(self._piece())
        self.at += 1
        return "".join(pieces)

    def _closing(self, at: int) -> int:
        """The place behind the parenthesis that closes one before `at`."""
        self.at, depth = at, 1
        while self.at < len(self.text) and depth:
            character = self.text[self.at]
            self.at += 1 + (character == "\\")
            if character in "'\"`":
                self.at = self._find(character) + 1  # not what is nested in it: depth is foreign
            depth += (character == "(") - (character == ")")
        return self.at

    def _skip_documents(self) -> None:
        for delimiter in self.delimiters:
            while self.at < len(self.text):
                end = self._find("\n")
                line = self.text[self.at : end].strip()
                self.at = end + 1
                if line == delimiter:
                    break
        self.delimiters = []

    def _find(self, mark: str) -> int:
        found = self.text.find(mark, self.at)
        return found if found >= 0 else len(self.text)

    def _starts(self, marks: str | tuple[str, ...]) -> bool:
        return self.text.startswith(marks, self.at)
