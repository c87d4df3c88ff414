"""What kind of text an output is, and from which size on that kind is kept out. Pure.

Bulk (logs, listings, search hits by the thousand, JSON and other dumps, minified text) is what a
model skims; content (source, diffs, documents) is what it asked for in order to read it. Of a file
the name decides, of other output the command and the text; what is not recognised is content.
"""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import TYPE_CHECKING, Any

from brimline.transcript import clienttools

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from brimline.bulk.shell import Line

BINARY, CODE, DIFF, DUMP, FOUND, JSON, LOG, PATHS, PROSE = (
    *("binary", "code", "diff", "dump", "found", "json", "log", "paths", "prose"),
)
BULK = frozenset({BINARY, DUMP, JSON, LOG, PATHS})
# Fewer hits than this are an answer, not bulk.
FEWEST_HITS = 1_000
_SAMPLE_LINES = 400
# What a line is shows at its beginning; patterns take long for a longer one that means them harm.
_SHAPE_CHARACTERS = 500
_FEWEST_LINES = 30
# Shares of the sampled lines from which on a text is taken for one of its kind.
_PATHS_SHARE = 0.9
_FOUND_SHARE = 0.6
_TIMES_SHARE = 0.5
_PASSED_SHARE = 0.3
_FORMS_SHARE = 0.35
_CELLS_SHARE = 0.9
_DEFINITIONS_SHARE = 0.01
_STATEMENTS_SHARE = 0.4
_FEWEST_HEADINGS = 3
_FEWEST_CELLS = 3
_LONG_LINE_CHARACTERS = 2_000
_LARGEST_JSON_CHARACTERS = 4_000_000
_MOST_DOCUMENTS = 400
# A list in brackets at the start of a log is no document: JSON has to be most of the text.
_LEAST_JSON_SHARE = 1 / 3
_FORM_CHARACTERS = 60
_BINARY_SAMPLE_CHARACTERS = 8_192
_MOST_CONTROLS = 0.02
_MOST_REPLACED = 0.1
# Those that no text holds: not tabs, line and page breaks, backspaces, escapes.
_CONTROLS = re.compile("[\x01-\x07\x0e-\x1a\x1c-\x1f]")

# Of other endings a file is taken for source code.
_ENDINGS = {
    DIFF: (".diff", ".patch"),
    LOG: (".log", ".out", ".output", ".err"),
    JSON: (".json", ".jsonl", ".ndjson", ".geojson", ".ipynb"),
    DUMP: (".csv", ".tsv", ".map", ".min.js", ".min.css", ".sqlite-dump"),
    PROSE: (".md", ".mdx", ".rst", ".adoc", ".txt", ".org", ".tex", ".html"),
}
_INSTRUCTION_FILES = (
    *("claude.md", "claude.local.md", "agents.md", "skill.md", "memory.md", "readme", "makefile"),
    *("go.mod", "go.sum", "pom.xml", "requirements.txt"),
)
_INSTRUCTION_STEMS = ("readme.", ".env", "dockerfile")
_CONFIGURATION = (
    *(".json", ".jsonc", ".json5", ".yaml", ".yml", ".toml", ".lock", ".ini", ".cfg", ".conf"),
    *(".properties", ".editorconfig", ".env"),
)
# What tools answer with, where it is not seen to be something else.
_TOOLS = {"Glob": PATHS, "WebFetch": PROSE, "WebSearch": PROSE}
_TOOLS |= dict.fromkeys(clienttools.DELEGATING, PROSE)

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
    r"int|bool|char|double|float|size_t|auto|const)\s++)+[\w<>\[\],*&:?]*\s*[*&]?[\w:~]+\([^;]*$"
)
_BINDING = re.compile(r"(?:export\s+)?(?:const|let|var)\s+\w+\s*[=:]|[A-Z][A-Z0-9_]{3,}\s*[:=]")
_STATEMENT = re.compile(r".*[;{})\]:,]\s*$|\s*(?://|#|\*|/\*|--)")
_HEADING = re.compile(r"#{1,5}\s+\S|\*\*[^*]+\*\*:?\s*$|[^\s#|>-].{2,80}:\s*$|<h[1-4]\b")
_TITLE = re.compile(r"#{1,5}\s+\S")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_DIFF = re.compile(r"diff --git |@@ -\d+(?:,\d+)? \+\d|Index: ")
# In two forms, each of which reads a line once: up to a colon, or to a dash behind the last name.
_HIT = re.compile(
    r"(?P<path>(?:[A-Za-z]:)?(?:[^\s:./]*[./][^\s:A-Za-z_]*[A-Za-z_][^\s:]*(?=:)"
    r"|[^\s:]*[./][^\s:./A-Za-z_]*[A-Za-z_][^\s:./]*?(?=-\d)))[:-]\d+[:-]"
)
_ROOTED = re.compile(r"\.{0,2}/|~/|[A-Za-z]:[\\/]")
_PATH = re.compile(r"(?:[A-Za-z]:)?[\w.~@/\\+-][\w .~@/\\+()\[\]$=,-]*")
_TIME = re.compile(r".{0,60}?\d{1,4}[-/:]\d\d[-/:]\d\d")
_PASSED = re.compile(
    r"\s*(?:ok\b|PASS|=== |--- PASS|[✓✔√]|\.+\s|(?:Compiling|Downloading|Fetching|Installing) )|"
    r".*(?:\.\.\. ?ok|PASSED|\bpassed)\s*(?:\[.*)?$"
)
# What a test run, a linter or a build prints when it fails; a pipe may have lost its exit code.
_FAILED = re.compile(
    r"^\s*(?:(?:-+ )?FAIL(?:ED|URE)?\b|not ok \d|[✗✘✕❌])|^Traceback |^E   |##\[error\]|"
    r"^(?:error|fatal)(?:\[\w+\])?: |\bpanic: |panicked at|\bBUILD FAIL|npm ERR!|"
    r"^make(?:\[\d+\])?: \*\*\*|"
    r"\(\d+,\d+\): error\b|\berror (?:TS|CS)\d+: |^Node\.js v\d|: command not found$|"
    r"^(?:Segmentation fault|Killed|Aborted)\b|"
    r"\b[1-9]\d* (?:tests? )?(?:failed|failures?|errors?)\b|"
    r"[Ee]xit(?: (?:code|status):?|:) [1-9]",
    re.MULTILINE,
)
# One of these is in whatever the pattern finds.
_FAILURE_WORDS = (
    *("FAIL", "fail", "rror", "fatal", "panic", "Traceback", "not ok", "E   ", "ERR!", "***"),
    *("Node.js v", "not found", "fault", "Killed", "Aborted", "xit", "✗", "✘", "✕", "❌"),
)
_FAILURE_CHARACTERS = 50_000
_NEXT = re.compile(r"\S")
_NUMBER = re.compile(r"\d+")


def kind_of_output(
    text: str, lines: list[str], tool: str, files: list[str], command: Line | None = None
) -> str:
    """The kind of an output.

    Args:
        text: the output.
        lines: those that are looked at.
        tool: the tool's name.
        files: the files that it shows, and nothing else.
        command: the command line that ran, if it was one.
    """
    if _is_binary(text[:_BINARY_SAMPLE_CHARACTERS]):
        return BINARY
    filled = (line[:_SHAPE_CHARACTERS] for line in lines if line.strip())
    sample = list(islice(filled, _SAMPLE_LINES))
    if not sample:
        return LOG
    kind = _kind_by_file_names(files) if files else ""
    if kind:
        return DUMP if kind in (CODE, PROSE) and _is_minified(text, lines) else kind
    if tool != "Read":
        kind = _kind_by_tool_or_line_form(sample, text, tool, command.prints if command else "")
    return kind or _kind_by_lines_of_text(sample, text, lines, CODE if tool == "Read" else PROSE)


def _is_binary(start: str) -> bool:
    controls, replaced = len(_CONTROLS.findall(start)), start.count("\ufffd")
    most = max(controls / _MOST_CONTROLS, replaced / _MOST_REPLACED)
    return "\0" in start or most > len(start)


def _kind_by_tool_or_line_form(sample: list[str], text: str, tool: str, prints: str) -> str:
    """Return the kind that the tool, the command or the form of its lines tells; maybe none."""
    usual = _TOOLS.get(tool, "")
    if any(map(_DIFF.match, sample)):
        return DIFF
    if PATHS in (prints, usual) or _share_of_lines(sample, _looks_like_path) > _PATHS_SHARE:
        return PATHS
    if tool == "Grep" or _share_of_lines(sample, _HIT.match) > _FOUND_SHARE:
        return FOUND
    return JSON if parse_json_documents_and_rest(text) else usual or prints


def reports_failure(text: str) -> bool:
    """Tell whether an output reports a failure, at its beginning or its end where it is large."""
    if len(text) > 2 * _FAILURE_CHARACTERS:
        text = f"{text[:_FAILURE_CHARACTERS]}\n{text[-_FAILURE_CHARACTERS:]}"
    # The pattern takes a hundred times as long as its words.
    return any(word in text for word in _FAILURE_WORDS) and bool(_FAILED.search(text))


def is_settings_or_instructions(path: str) -> bool:
    """Tell whether a file is read to be obeyed: settings, instructions, lock files."""
    name = path.replace("\\", "/").rpartition("/")[2].lower()
    if name in _INSTRUCTION_FILES or name.startswith(_INSTRUCTION_STEMS):
        return True
    return name.endswith(_CONFIGURATION) or ".env." in name


def heading_indices(lines: list[str], kind: str) -> list[int]:
    """The indices of lines under which the others can be filed, the outer ones first."""
    lines = [line[:_SHAPE_CHARACTERS] for line in lines]
    if kind == CODE:
        places = [at for at, line in enumerate(lines) if _is_definition_line(line)]
    elif kind == PROSE:
        places = list(_markdown_heading_indices(lines))
    else:
        places = list(_first_hit_per_file_indices(lines))
    first_of = {lines[place]: place for place in reversed(places)}
    return sorted(first_of.values(), key=lambda at: (len(lines[at]) - len(lines[at].lstrip()), at))


def _markdown_heading_indices(lines: list[str]) -> Iterator[int]:
    is_fenced = False
    for at, line in enumerate(lines):
        is_fenced = is_fenced != bool(_FENCE.match(line))
        if not is_fenced and _HEADING.match(line):
            yield at


def _first_hit_per_file_indices(lines: list[str]) -> Iterator[int]:
    """The first hit in each file, which is spelt relative on one line and absolute on the next."""
    last = ""
    for at, line in enumerate(lines):
        if match := _HIT.match(line):
            name = match["path"].replace("\\", "/").rpartition("/")[2]
            if name != last:
                yield at
            last = name


def with_numbers_zeroed(text: str) -> str:
    """A form that lines share which differ in nothing but their numbers; takes many lines too."""
    return _NUMBER.sub("0", text)


def parse_json_documents_and_rest(text: str) -> tuple[list[Any], str] | None:
    """The JSON documents that a text consists of, and what follows; None where it is not JSON."""
    text = text.lstrip()
    if text[:1] not in ("{", "[") or len(text) > _LARGEST_JSON_CHARACTERS:
        return None
    decoder = json.JSONDecoder(strict=False)
    values: list[Any] = []
    position = end = 0
    while position < len(text) and len(values) < _MOST_DOCUMENTS:
        try:
            value, after = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            break
        if not isinstance(value, dict | list):
            break
        values.append(value)
        end = after
        following = _NEXT.search(text, end)
        position = following.start() if following else len(text)
    is_mostly = values and end > len(text) * _LEAST_JSON_SHARE
    return (values, text[end:].strip()) if is_mostly else None


def _kind_by_file_names(files: list[str]) -> str:
    """The kind of files whose names tell it, and tell the same; empty otherwise."""
    kinds = {_kind_by_file_name(file.lower()) for file in files}
    return kinds.pop() if len(kinds) == 1 else ""


def _kind_by_file_name(path: str) -> str:
    for kind, endings in _ENDINGS.items():
        if path.endswith(endings):
            return kind
    return CODE if "." in path.rpartition("/")[2] else ""


def _kind_by_lines_of_text(sample: list[str], text: str, lines: list[str], otherwise: str) -> str:
    if _is_minified(text, lines):
        return DUMP
    if _is_code(sample):
        return CODE
    if len(sample) < _FEWEST_LINES:
        return otherwise
    if sum(map(bool, map(_TITLE.match, sample))) >= _FEWEST_HEADINGS:
        return PROSE
    is_timed = _share_of_lines(sample, _TIME.match) > _TIMES_SHARE
    if is_timed or _share_of_lines(sample, _PASSED.match) > _PASSED_SHARE:
        return LOG
    if _is_table(sample):
        return DUMP
    forms = {with_numbers_zeroed(line[:_FORM_CHARACTERS]) for line in sample}
    return LOG if len(forms) <= len(sample) * _FORMS_SHARE else otherwise


def _is_table(sample: list[str]) -> bool:
    cells = [sum(line.count(mark) >= _FEWEST_CELLS for line in sample) for mark in ",\t|"]
    return max(cells) > len(sample) * _CELLS_SHARE


def _is_minified(text: str, lines: list[str]) -> bool:
    long = sum(len(line) for line in lines if len(line) > _LONG_LINE_CHARACTERS)
    return long * 2 > len(text)


def _is_code(sample: list[str]) -> bool:
    definitions = _share_of_lines(sample, _is_definition_line)
    statements = _share_of_lines(sample, _STATEMENT.match)
    return definitions > _DEFINITIONS_SHARE and statements > _STATEMENTS_SHARE


def _share_of_lines(sample: list[str], test: Callable[[str], object]) -> float:
    return sum(1 for line in sample if test(line)) / len(sample)


def _looks_like_path(line: str) -> bool:
    text = line.strip()
    if " " in text and not _ROOTED.match(text):
        return False
    marked = "/" in text or "." in text or "\\" in text
    return marked and bool(_PATH.fullmatch(text))


def _is_definition_line(line: str) -> bool:
    return bool(_DEFINITION.match(line) or _BINDING.match(line) or _METHOD.match(line))
