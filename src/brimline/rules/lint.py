"""What is wrong with the instruction files of a project, and the single rules in them.

For commands: reads as much of Markdown as it needs, asks git for ages, walks through the project.
"""

from __future__ import annotations

import os
import re
import textwrap
from typing import TYPE_CHECKING, NamedTuple

from brimline import programs
from brimline.fast import io
from brimline.rules import cascade, marked
from brimline.rules.cascade import OWN, Problem, is_within, short_path
from brimline.rules.lines import TEXT
from brimline.rules.marked import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from brimline.rules.cascade import Cascade, Source
    from brimline.rules.lines import Line

_LEAST_REPEATED_WORDS = 4
# Dates and their like, what is in use just now, versions, and counts of what grows.
_CHANGING = re.compile(
    r"\b20\d\d-[01]\d-[0-3]\d\b|\b(?:today|yesterday|tomorrow|this week)\b"
    r"|\b(?:current|active) (?:branch|version|release|sprint|milestone)\b"
    r"|\bv?\d+\.\d+\.\d+\b|\b\d[\d,]*\d (?:tests|files|commits|issues)\b",
    re.IGNORECASE,
)
_LONGEST_RULE = 500
# What loads in every session, in characters.
_MOST_AT_START = 12_000
_QUOTED_CHARACTERS = 70
_PLACE = re.compile(r"(?::\d+)?(?:[:-]\d+)?(?:#.*)?$")
_PATH = re.compile(r"(?:\.{1,2}/)?[\w.@+-]+(?:/[\w.@+-]+)+/?$")
_SUFFIX = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,7}$")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|[#/~]")
# A code span, which comes first: what is in it is no link; the target of a link, no image's.
_CODE_OR_LINK = re.compile(
    r"(?<!`)(?P<ticks>`+)(?!`)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)"
    r"|(?<![!\\])\[(?:[^\[\]\\`]|\\.|`[^`]*`|\[[^\[\]]*\])*\]"
    r"\(\s*(?:<(?P<href>[^<>\n]*)>|(?P<bare>(?:[^\s()\\]|\\.|\([^\s()]*\))+))"
    r"(?:\s+(?:\"[^\"]*\"|'[^']*'|\([^)]*\)))?\s*\)",
    re.DOTALL,
)
# What is longer is data, and its end is not looked through.
_LONGEST_PARAGRAPH = 10_000
# A row of a table, or what underlines a heading or parts two paragraphs.
_NO_WORDS = re.compile(r"\s*(?:\||[-=*_\s]+$)")
_MARKS_BEFORE = re.compile(r"^[\s>]*(?:(?:[-*+]|\d{1,9}[.)])(?:\s+|$))*")
_GIT_TIMEOUT_S = 10
_SECONDS_PER_DAY = 86_400
_MOST_ENTRIES = 300_000
_NAMES = {cascade.CLAUDE, cascade.LOCAL, cascade.AGENTS, OWN}
# Other people's code and what builds leave behind.
_SKIPPED = frozenset(
    (
        *(".git", ".hg", ".svn", "node_modules", ".venv", "venv", "__pycache__", "dist", "build"),
        *("target", "vendor", "coverage", ".next", ".nuxt", ".tox", ".mypy_cache", "worktrees"),
        OWN,
    )
)


class Survey(NamedTuple):
    """What a walk through a project found."""

    folders: list[str]
    """Folders below the project with instructions of their own."""
    names: set[str]
    """Of all files and folders."""
    is_complete: bool


def survey_project_files(project_dir: str) -> Survey:
    """Walk through a project, within bounds."""
    top = os.path.realpath(project_dir)
    seen = Survey([], set(), is_complete=True)
    entries = 0
    for folder, below, files in os.walk(top):
        entries += 1 + len(below) + len(files)
        if entries > _MOST_ENTRIES:
            return seen._replace(is_complete=False)
        seen.names.update(below, files)
        if folder != top and not _NAMES.isdisjoint((*below, *files)):
            seen.folders.append(folder)
        below[:] = sorted(name for name in below if name not in _SKIPPED)
    return seen


def all_rules_in_file(source: Source) -> Iterator[Rule]:
    """Yield what a file says, in its order."""
    for line, paragraph in _paragraphs(source):
        text = " ".join(paragraph.split())
        if text and not re.fullmatch(r"@\S+(?: @\S+)*", text):
            yield Rule(text[:_LONGEST_RULE], source.path, line)


def lint(
    found: Cascade, walked: Survey, now: float, stale: tuple[int, int] = (90, 50)
) -> tuple[list[Problem], list[str]]:
    """Return what is wrong, and what could not be checked.

    A file counts as left alone after so many days and commits around it.
    """
    sources = [source for source in found.sources if not source.is_excluded]
    # What a file outside the project means by a path, and which code it is about, is not known.
    own = [source for source in sources if is_within(source.path, found.boundary)]
    notes = [] if walked.is_complete else ["the project is large: not every folder was searched"]
    findings = [
        *found.problems,
        *_find_missing(own, found, walked),
        *_find_repeats(sources),
        *_find_unloaded_and_too_long(sources),
        *_find_changing(sources),
        *find_folder_of_rules_nobody_reads(found.folder),
    ]
    if not _git_output(found.folder, "rev-parse", "--verify", "HEAD"):
        notes.append(f"ages are not checked: git knows no commit in {found.folder}")
        own = []
    for source in own:
        findings += _find_file_stale_by_commits(source.path, stale, now)
    return findings, notes


def _paragraphs(source: Source) -> Iterator[tuple[int, str]]:
    """The pieces of running text in a file, each with its first line; headings and tables aside."""
    for block in _blocks_of_text(source.lines):
        rows = [line for line in block if not _NO_WORDS.match(line.text)]
        if rows:
            yield rows[0].number, "\n".join(_MARKS_BEFORE.sub("", row.text) for row in rows).strip()


def _blocks_of_text(lines: Iterable[Line]) -> Iterator[list[Line]]:
    """Lines of text that stand together; an item of a list begins a new block."""
    block: list[Line] = []
    for line in lines:
        is_text = line.kind == TEXT and not line.heading
        if line.is_item or not is_text:
            yield block
            block = []
        if is_text:
            block.append(line)
    yield block


def _find_missing(sources: Iterable[Source], files: Cascade, walked: Survey) -> Iterator[Problem]:
    """Files that are named by links and in code spans and are nowhere where they could be."""
    for source in sources:
        folder = os.path.dirname(os.path.realpath(source.path))
        for line, written, is_link in _paths_named_in_file(source):
            homes = (folder,) if is_link else (folder, files.folder, files.boundary)
            inside = _possible_targets_in_project(homes, written, files.boundary)
            is_there = any(map(os.path.lexists, inside))
            if inside and not is_there and (is_link or not _may_be_path_tail(written, walked)):
                yield Problem("reference", source.path, line, f"{written} is not there any more")


def _possible_targets_in_project(homes: Iterable[str], written: str, boundary: str) -> list[str]:
    """Return where a path could lead to, seen from several folders, within the project."""
    places = [os.path.normpath(os.path.join(home, written)) for home in homes]
    return [place for place in places if is_within(place, boundary)]


def _paths_named_in_file(source: Source) -> Iterator[tuple[int, str, bool]]:
    """Line, text and kind of what surely is the path of a file in the project."""
    for line, text in _paragraphs(source):
        for named in _CODE_OR_LINK.finditer(text[:_LONGEST_PARAGRAPH]):
            href = (named["href"] or named["bare"] or "").partition("#")[0]
            if href and not _SCHEME.match(href):
                yield line, href.replace("%20", " "), True
            written = _PLACE.sub("", " ".join((named["code"] or "").split()))
            if _PATH.match(written) and _SUFFIX.search(written):
                yield line, written, False


def _may_be_path_tail(written: str, walked: Survey) -> bool:
    """Whether a name that is short for a path lies somewhere in the project, as far as we know."""
    is_there = os.path.basename(written.rstrip("/")) in walked.names
    return not written.startswith(".") and (is_there or not walked.is_complete)


def _find_repeats(sources: Sequence[Source]) -> Iterator[Problem]:
    """Files that say the same, and rules in two files in the same words; the client sends each."""
    files: dict[str, Source] = {}
    said: dict[str, tuple[Rule, Source]] = {}
    for source in [each for each in sources if each.text.strip()]:
        first = files.setdefault(source.digest, source)
        if first is not source:
            if _can_both_be_loaded(first, source):
                text = f"says the same as {short_path(first.path)}"
                yield Problem("duplicate", source.path, None, text)
            continue
        for rule in all_rules_in_file(source):
            other, where = said.setdefault(rule.hash_of_words, (rule, source))
            long_enough = len(rule.text.split()) >= _LEAST_REPEATED_WORDS
            if other.path != rule.path and long_enough and _can_both_be_loaded(where, source):
                said_so = textwrap.shorten(rule.text, _QUOTED_CHARACTERS, placeholder="…")
                text = f"“{said_so}” is said already ({short_path(other.path)}:{other.line})"
                yield Problem("repeated", rule.path, rule.line, text)


def _can_both_be_loaded(first: Source, second: Source) -> bool:
    """Tell whether two files can be before the model for one and the same file at hand."""
    if not first.level == second.level == cascade.CHILD:
        return True
    one, other = first.folder, second.folder
    return is_within(one, other) or is_within(other, one)


def _find_unloaded_and_too_long(sources: Sequence[Source]) -> Iterator[Problem]:
    """Files that people may take for loaded, and what is too long to load."""
    for source in sources:
        if source.client == cascade.NEVER and source.client_note:
            text = f"Claude Code does not load it: {source.client_note}"
            yield Problem("unread", source.path, None, text)
        count = len(source.text.strip())
        if count > marked.FILE_CHARACTERS:
            text = f"has {count:,} characters, over {marked.FILE_CHARACTERS:,}, in every request"
            yield Problem("large", source.path, None, text)
    lost = [each for each in sources if each.client in (cascade.ON_READ, cascade.ON_MATCH)]
    for rule in marked.split_into_fitting_and_cut(marked.marked_rules_in(lost))[1]:
        text = f"no room for it after a compaction: {marked.MOST_CHARACTERS:,} characters for all"
        yield Problem("marked", rule.path, rule.line, text)
    start = [source for source in sources if source.client == cascade.AT_START]
    total = sum(len(source.text) for source in marked.files_with_distinct_text(start))
    if total > _MOST_AT_START:
        text = f"what loads at the start has {total:,} characters, over {_MOST_AT_START:,}"
        yield Problem("large", start[-1].path, None, text)


def _find_changing(sources: Iterable[Source]) -> Iterator[Problem]:
    """Yield what changes from day to day in a text that opens every request."""
    for source in sources:
        if source.client != cascade.AT_START:
            continue
        for line in source.lines:
            found = _CHANGING.search(line.plain) if line.kind == TEXT else None
            if found:
                text = f"“{found[0]}” will change, and then no cache serves what is behind it"
                yield Problem("changing", source.path, line.number, text)


def find_folder_of_rules_nobody_reads(project_dir: str) -> Iterator[Problem]:
    """Tell of a folder `rules` at the project's root: the client has another place for it."""
    folder = f"{project_dir}/rules"
    names = [f"{folder}/{name}" for name in io.list_names(folder) if name.endswith(".md")]
    if not names:
        return
    read = {source.path for source in cascade.gather_instruction_files(project_dir).sources}
    if read.isdisjoint(map(os.path.realpath, names)):
        text = f"Claude Code does not load it: put its files into {OWN}/rules, or import them"
        yield Problem("unread", folder, None, text)


def _find_file_stale_by_commits(path: str, stale: tuple[int, int], now: float) -> Iterator[Problem]:
    """Tell whether a file was left alone while the code around it moved on."""
    folder, name = os.path.split(os.path.realpath(path))
    last = _git_output(folder, "rev-list", "-1", "--timestamp", "HEAD", "--", name)
    moment, _, commit = last.partition(" ")
    # The work that a file in the client's own folder is about lies around that folder.
    about = f"{folder}/".partition(f"/{OWN}/")[0] or "/"
    since = _git_output(about, "rev-list", "--count", f"{commit}..HEAD", "--", ".")
    if not moment.isdigit() or not since.isdigit():
        return
    days = int((now - int(moment)) // _SECONDS_PER_DAY)
    if days >= stale[0] and int(since) >= stale[1]:
        text = f"last changed {days} days ago, {since} commits around it since: is it still true?"
        yield Problem("stale", path, None, text)


def _git_output(folder: str, *command: str) -> str:
    return (programs.run_git(folder, command, timeout_s=_GIT_TIMEOUT_S) or "").strip()
