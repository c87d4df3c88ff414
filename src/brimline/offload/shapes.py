"""What kind of text an output is, and which of its lines are headings to the others. Pure."""

from __future__ import annotations

import re
from itertools import islice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_SAMPLE_LINES = 400
# Shares of the sampled lines from which on a text is taken for one of its kind.
_DIFF_SHARE = 0.005
_PATHS_SHARE = 0.9
_FOUND_SHARE = 0.6
_DEFINITIONS_SHARE = 0.01
_STATEMENTS_SHARE = 0.4
_FEWEST_HEADINGS = 3
_BINARY_SAMPLE_CHARACTERS = 8_192
_MOST_CONTROLS = 0.02
# Those that no text holds: not tabs, line and page breaks, backspaces, escapes.
_CONTROLS = "".join(map(chr, [*range(1, 8), *range(14, 27), *range(28, 32)]))
_MOST_REPLACED = 0.1

_PROSE_FILES = (".md", ".mdx", ".rst", ".adoc", ".txt", ".org", ".tex", ".html")
_JSON_FILES = (".json", ".jsonl", ".ndjson", ".geojson", ".ipynb")
_BEGINNING_CHARACTERS = 200
_LOG_FILES = (".log", ".out", ".output", ".err")

_MODIFIERS = (
    r"(?:(?:export|default|pub(?:\([^)]*\))?|public|private|protected|internal|static|final|"
    r"abstract|async|unsafe|extern|inline|virtual|override|sealed|partial|declare|open|data|"
    r"suspend|readonly|local)\s+)*"
)
_DEFINITION = re.compile(
    rf"\s*{_MODIFIERS}(?:"
    r"(?:func|fn|def|defp|defmodule|defmacro|fun|function\*?|class|type|interface|struct|enum|trait|"
    r"impl|mod|module|namespace|typedef|macro_rules!|CREATE)\b(?!\s*[=:.,)])|"
    r"(?:message|service|rpc|record|object|resource|protocol|extension|union|sub|procedure|describe|"
    r"it|test)\b\s*[(\"'\w].*[({:]\s*$|"
    r"(?:const|var|let|val)\s+(?:\(|[A-Z]\w*)|#\s*define\s+\w|[\w-]+\s*\(\)\s*\{)"
)
# `public Task<Foo> Bar(int baz)`, `static void main(String[] args) {`: a type, a name, parameters.
_METHOD = re.compile(
    r"\s*(?:(?:public|private|protected|internal|static|final|async|virtual|override|unsigned|void|"
    r"int|bool|char|double|float|size_t|auto|const)\s+)+[\w<>\[\],*&:?]*\s*[*&]?[\w:~]+\([^;]*$"
)
_BINDING = re.compile(r"(?:export\s+)?(?:const|let|var)\s+\w+\s*[=:]|[A-Z][A-Z0-9_]{3,}\s*[:=]")
_STATEMENT = re.compile(r".*[;{})\]:,]\s*$|\s*(?://|#|\*|/\*|--)")
_HEADING = re.compile(r"#{1,5}\s+\S|\*\*[^*]+\*\*:?\s*$|[^\s#|>-].{2,80}:\s*$|<h[1-4]\b")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_DIFF = re.compile(r"diff --git |@@ -\d+(?:,\d+)? \+\d|Index: ")
_FOUND = re.compile(r"(?P<path>(?:[A-Za-z]:)?[^\s:]*[./][^\s:]*?[A-Za-z_][^\s:]*?)[:-]\d+[:-]")
_PATH = re.compile(r"(?:[A-Za-z]:)?[\w.~@/\\+-][\w .~@/\\+()\[\]$=,-]*")


def is_binary(text: str) -> bool:
    """Whether the text is bytes that somebody decoded."""
    sample = text[:_BINARY_SAMPLE_CHARACTERS]
    if "\x00" in sample:
        return True
    if not sample or sample.isprintable():
        return False
    controls = sum(map(sample.count, _CONTROLS))
    replaced = sample.count("\ufffd")
    return controls > len(sample) * _MOST_CONTROLS or replaced > len(sample) * _MOST_REPLACED


def may_be_json(text: str, tool: str, subject: str) -> bool:
    """Whether it is worth trying: of a file its name decides, of other output its beginning."""
    if tool == "Read" and not subject.lower().endswith(_JSON_FILES):
        return False
    return text[:_BEGINNING_CHARACTERS].lstrip()[:1] in ("{", "[")


def kind_of(lines: list[str], tool: str, subject: str) -> str:
    """One of `code prose diff grep paths log`, from the first lines, the tool and the file."""
    sample = list(islice((line for line in lines if line.strip()), _SAMPLE_LINES))
    if not sample:
        return "log"
    if tool == "Read":
        return _kind_of_file(sample, subject.lower())
    if _share(sample, _DIFF.match) > _DIFF_SHARE:
        return "diff"
    if tool == "Glob" or _share(sample, _looks_like_path) > _PATHS_SHARE:
        return "paths"
    if tool == "Grep" or _share(sample, _FOUND.match) > _FOUND_SHARE:
        return "grep"
    if _is_code(sample):
        return "code"
    headings = sum(line.startswith("#") and bool(_HEADING.match(line)) for line in sample)
    if headings >= _FEWEST_HEADINGS or tool in ("WebFetch", "WebSearch", "Agent", "Task"):
        return "prose"
    return "log"


def headings(lines: list[str], kind: str) -> list[int]:
    """The indices of lines under which the others can be filed, in order."""
    if kind == "code":
        return [i for i, line in enumerate(lines) if _defines(line)]
    if kind == "prose":
        return _prose_headings(lines)
    if kind == "diff":
        return [i for i, line in enumerate(lines) if line.startswith(("diff --git ", "@@ "))]
    return _found_files(lines) if kind == "grep" else []


def depth(heading: str) -> int:
    """How far inside a heading stands: its indentation; a hunk is inside its file."""
    return len(heading) - len(heading.lstrip()) + heading.startswith("@@ ")


def _kind_of_file(sample: list[str], path: str) -> str:
    if path.endswith((".diff", ".patch")):
        return "diff"
    if path.endswith(_LOG_FILES):
        return "log"
    return "prose" if path.endswith(_PROSE_FILES) and not _is_code(sample) else "code"


def _is_code(sample: list[str]) -> bool:
    definitions = _share(sample, _defines)
    return definitions > _DEFINITIONS_SHARE and _share(sample, _STATEMENT.match) > _STATEMENTS_SHARE


def _share(sample: list[str], test: Callable[[str], object]) -> float:
    return sum(1 for line in sample if test(line)) / len(sample)


def _looks_like_path(line: str) -> bool:
    text = line.strip()
    return ("/" in text or "." in text) and " " not in text and bool(_PATH.fullmatch(text))


def _defines(line: str) -> bool:
    if _DEFINITION.match(line):
        return True
    return bool(_BINDING.match(line) or _METHOD.match(line))


def _prose_headings(lines: list[str]) -> list[int]:
    found, fenced = [], False
    for i, line in enumerate(lines):
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and _HEADING.match(line):
            found.append(i)
    return found


def _found_files(lines: list[str]) -> list[int]:
    """The first line of each file among the lines of a search."""
    found, last = [], None
    for i, line in enumerate(lines):
        match = _FOUND.match(line)
        if not match:
            continue
        # The same file is spelt relative on one line and absolute on the next.
        name = match["path"].rpartition("/")[2]
        if name != last:
            found.append(i)
            last = name
    return found
