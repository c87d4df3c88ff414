"""What of the instruction files reaches the model by us: marked rules, and many files as one text.

Of the files with rules marked `(ENFORCED)` or `(CRITICAL)` only those count that the client itself
loaded in that session: a text of somebody else's repository must not become a rule because it lies
there. Standard library only.
"""

from __future__ import annotations

import hashlib
import os
import re
from typing import TYPE_CHECKING, NamedTuple

from brimline.rules import cascade
from brimline.rules.cascade import AT_START, NEVER, ON_MATCH, ON_READ, PRIVATE
from brimline.rules.lines import BLANK, CODE, COMMENT, TEXT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from brimline.rules.cascade import Cascade, Source
    from brimline.rules.lines import Line

MARK = re.compile(r"\((?:ENFORCED|CRITICAL)\)")
# They leave room in the card for what the session itself said.
MOST_CHARACTERS = 4_500
_MOST_RULES = 60
# What one file and all of them may take of the assembled text.
FILE_CHARACTERS = 4_000
TOTAL_CHARACTERS = 12_000
TRUNCATED = "[truncated]"
BOUNDARY = "--- brimline: above is the same for every file, below is for the file at hand ---"
_HEAD = "[brimline] Instructions that Claude Code does not load by itself:\n\n"
_END = f"\n{TRUNCATED}\n"
_LEAST_WORTH_SHOWING = 100
_DECORATION = re.compile(r"[*_`\"'“”]+")
_LIST_MARK = re.compile(r"^\s*(?:[-*+]|\d+[.)]|#{1,6})\s+")


class Rule(NamedTuple):
    """One thing that a file says: a list item, a paragraph, or a heading with its section."""

    text: str
    path: str
    line: int

    @property
    def hash_of_words(self) -> str:
        """Equal for rules in the same words, whatever their case and decoration."""
        words = " ".join(_DECORATION.sub("", self.text).lower().rstrip(" .!").split())
        return hashlib.sha256(words.encode("utf-8", "replace")).hexdigest()[:12]


def rules_of_loaded_files(project_dir: str, loaded: Iterable[str]) -> list[list[str]]:
    """File and text of the marked rules that a summary loses, read from the disk now.

    Those of files that the client loaded on the way, and loads again only with a file they are
    about.
    """
    wanted = {os.path.realpath(path) for path in loaded}
    if not wanted:
        return []
    project = os.path.realpath(project_dir)
    folders = {path.partition(f"/{cascade.OWN}/")[0] for path in wanted}
    folders |= {os.path.dirname(path) for path in wanted}
    below = [folder for folder in folders if cascade.is_within(folder, project)]
    files = cascade.gather_instruction_files(project_dir, folders=below)
    on_the_way = [each for each in files.sources if each.client in (ON_READ, ON_MATCH)]
    lost = [each for each in on_the_way if os.path.realpath(each.path) in wanted]
    return card_rows_of_marked_rules(files.folder, lost)


def card_rows_of_marked_rules(project: str, sources: Iterable[Source]) -> list[list[str]]:
    """The marked rules of files as the card shows them: the file's name and the text of each.

    In the order of the cascade, each once, within bounds; where some had no room the last entry,
    without a file, says so.
    """
    kept, cut = split_into_fitting_and_cut(marked_rules_in(sources))
    rules = [[cascade.short_path(r.path, project), _LIST_MARK.sub("", r.text)] for r in kept]
    if cut:
        left = f"[truncated] {len(cut)} marked rules had no room: `brimline rules lint` names them"
        rules.append(["", left])
    return rules


def marked_rules_in(sources: Iterable[Source]) -> list[Rule]:
    """The marked rules of files, each text once."""
    rules: dict[str, Rule] = {}
    for source in sources:
        for at, text in _marked_passages(source.lines):
            rule = Rule(text, source.path, at)
            rules.setdefault(rule.hash_of_words, rule)
    return list(rules.values())


def is_in_every_session(source: Source) -> bool:
    """Whether a file reaches every session: by the client, or by us where the client knows none."""
    return source.client == AT_START or source.level == PRIVATE


def split_into_fitting_and_cut(marked: Sequence[Rule]) -> tuple[list[Rule], list[Rule]]:
    """Those that fit into a card, in their order, and those that do not; none is shortened.

    A rule that is too long makes way for the shorter ones after it.
    """
    kept: list[Rule] = []
    cut: list[Rule] = []
    left = MOST_CHARACTERS
    for rule in marked:
        if len(rule.text) <= left and len(kept) < _MOST_RULES:
            kept.append(rule)
            left -= len(rule.text)
        else:
            cut.append(rule)
    return kept, cut


def _marked_passages(lines: Sequence[Line]) -> list[tuple[int, str]]:
    """The first line and the text of each marked passage; one inside another counts once."""
    passages: list[tuple[int, str]] = []
    done = 0
    for at, line in enumerate(lines):
        if at < done or line.kind != TEXT or not MARK.search(line.plain):
            continue
        first = max(done, _passage_start(lines, at))
        done = _passage_end(lines, first, at)
        rows = [each.text.rstrip() for each in lines[first:done] if each.kind != COMMENT]
        indent = len(rows[0]) - len(rows[0].lstrip())
        text = "\n".join([row[indent:] if not row[:indent].strip() else row for row in rows])
        if MARK.sub("", text).strip(" *_:>-#\n"):
            passages.append((lines[first].number, text.strip("\n")))
    return passages


def _passage_start(lines: Sequence[Line], at: int) -> int:
    """Return where the paragraph or list item around a line begins."""
    while (
        at
        and not lines[at].is_item
        and not lines[at].heading
        and not _is_table_or_import(lines[at])
    ):
        before = lines[at - 1]
        if before.kind != TEXT or before.heading or _is_table_or_import(before):
            break
        at -= 1
    return at


def _passage_end(lines: Sequence[Line], first: int, at: int) -> int:
    """Return where the passage that begins at a line and has the mark at another one is over."""
    line = lines[first]
    if _is_table_or_import(line):
        return first + 1
    if line.heading and not line.is_item:
        later = range(first + 1, len(lines))
        return next((n for n in later if 0 < lines[n].heading <= line.heading), len(lines))
    end = at + 1
    while end < len(lines) and _belongs_to_passage(lines, first, end):
        end += 1
    announces = lines[end - 1].text.rstrip(" *_").endswith(":") and not line.is_item
    return _end_of_announced_list_or_code(lines, end) if announces else end


def _belongs_to_passage(lines: Sequence[Line], first: int, at: int) -> bool:
    """Whether a line belongs to the paragraph or the list item that begins at the first one."""
    item, line = lines[first], lines[at]
    if line.kind in (BLANK, COMMENT):
        # Only what is indented comes after a blank line of a list item.
        later = [each for each in lines[at + 1 : at + 3] if each.kind not in (BLANK, COMMENT)]
        line = later[0] if later else item
        return item.is_item and line.indent > item.indent
    if item.is_item and line.indent > item.indent:
        return True
    begins_anew = line.is_item or line.heading or _is_table_or_import(line)
    return line.kind == TEXT and not begins_anew


def _end_of_announced_list_or_code(lines: Sequence[Line], at: int) -> int:
    """The end of the list or the code that a line with a colon leads up to."""
    end = at
    while at < len(lines) and (lines[at].kind in (BLANK, CODE) or lines[at].is_item):
        at += 1
        end = end if lines[at - 1].kind == BLANK else at
    return end


def _is_table_or_import(line: Line) -> bool:
    """A row of a table, or an import, is not a part of a paragraph."""
    return line.text.lstrip().startswith(("|", "@"))


def text_of_files_only_we_load(files: Cascade, room: int) -> str:
    """The user's own file for this project with what it imports, or an empty text.

    A text that the client loads from elsewhere is not repeated. The same files give the same bytes.
    """
    loaded = {source.digest for source in files.sources if source.client == AT_START}
    ours = [
        source
        for source in files_with_distinct_text(files.sources)
        if source.client == NEVER and is_in_every_session(source) and source.digest not in loaded
    ]
    text = _text_of_files(ours, room - len(_HEAD))
    return _HEAD + text if text else ""


def files_with_distinct_text(sources: Iterable[Source]) -> list[Source]:
    """The files that say something, each text once: the first one stays."""
    kept: dict[str, Source] = {}
    for source in sources:
        if source.text.strip() and not source.is_excluded:
            kept.setdefault(source.digest, source)
    return list(kept.values())


def text_of_all_files(
    sources: Sequence[Source], *, has_file: bool = False, total: int = TOTAL_CHARACTERS
) -> str:
    """One text of all files, weakest first; what depends on the file at hand stands at the end.

    With a file at hand, room for one file is kept for it whether or not anything comes, so that the
    stable part has the same bytes for every file.
    """
    kept = files_with_distinct_text(sources)
    dynamic = [source for source in kept if source.is_for_some_files]
    reserve = min(FILE_CHARACTERS, total // 3) if has_file or dynamic else 0
    first = _text_of_files(
        [source for source in kept if not source.is_for_some_files], total - reserve
    )
    head = (first + "\n" if first else "") + BOUNDARY + "\n\n"
    second = _text_of_files(dynamic, total - len(head))
    return head + second if second else first


def _text_of_files(sources: Sequence[Source], total: int) -> str:
    """Files in their order, each under a line that says where it is from, as far as they fit."""
    sections = []
    for source in sources:
        body = source.text.strip()
        if len(body) > FILE_CHARACTERS:
            body = body[:FILE_CHARACTERS].rstrip() + f"\n{TRUNCATED}"
        sections.append(f"From {cascade.short_path(source.path)} ({source.level}):\n\n{body}\n")
    text = "\n".join(sections)
    if len(text) > total:
        room = total - len(_END)
        text = text[:room].rstrip() + _END if room >= _LEAST_WORTH_SHOWING else ""
    return text
