"""Checks the instruction files of a project: what is broken, and what is merely doubtful."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from brimline.decision import NOTE_BUDGET_CHARACTERS
from brimline.rules import assemble, conflicts, markers, memoryfiles, references, statements
from brimline.rules.age import History
from brimline.rules.assemble import shown_path
from brimline.rules.model import AT_START, NEVER, ORGANISATION, PRIVATE
from brimline.rules.places import AGENTS, user_home

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from brimline.rules.age import Age
    from brimline.rules.assemble import Limits
    from brimline.rules.cascade import Cascade
    from brimline.rules.model import Source
    from brimline.rules.statements import Statement
    from brimline.rules.survey import Survey

BROKEN, DOUBTFUL = "broken", "doubtful"
_BROKEN_PROBLEMS = frozenset({"missing", "import", "cycle", "unreadable"})
_MOST_STATEMENTS = 5_000
_MOST_OF_A_KIND = 50
_QUOTED_CHARACTERS = 70
_CLASH = {
    "opposite": "one asks for what the other refuses",
    "number": "they name different numbers",
    "choice": "they make different choices",
}


class Finding(NamedTuple):
    """Something to mend or to think about."""

    severity: str
    kind: str
    path: str
    line: int | None
    text: str


class Thresholds(NamedTuple):
    """When a file counts as left alone; 0 days switches that off."""

    stale_days: int
    stale_commits: int


class Report(NamedTuple):
    """All findings, and what could not be checked."""

    findings: list[Finding]
    notes: list[str]


def lint(
    cascade: Cascade,
    limits: Limits,
    thresholds: Thresholds,
    walked: Survey,
    now: float,
    tick: Callable[[int], None] = lambda _: None,
) -> Report:
    """Check everything that a project's cascade holds; `tick` hears of every file that is dated."""
    sources = [source for source in cascade.sources if not source.excluded]
    # What a file outside the project means by a path, and which code it is about, is not known.
    own = [each for each in sources if each.path.startswith(cascade.project.boundary + "/")]
    said = list(statements.statements(sources))[:_MOST_STATEMENTS]
    history = History(cascade.project.folder)
    findings = [
        *_problems(cascade),
        *_references(own, cascade, walked),
        *_stale(_ticking(own, tick), history, thresholds, now),
        *_same_files(sources),
        *_clashes(said),
        *_repeated(said),
        *_unread(sources),
        *_memory(cascade.project.folder),
        *_sizes(sources, limits),
        *_marked(sources),
    ]
    ages_wanted = thresholds.stale_days > 0 and history.problem
    notes = [f"ages are not checked: {history.problem}"] if ages_wanted else []
    notes += [] if walked.is_complete else ["the project is large: not every folder was searched"]
    return Report(findings, notes)


def _problems(cascade: Cascade) -> Iterator[Finding]:
    for problem in cascade.problems:
        severity = BROKEN if problem.kind in _BROKEN_PROBLEMS else DOUBTFUL
        yield Finding(severity, problem.kind, problem.path, problem.line, problem.text)


def _references(sources: Sequence[Source], cascade: Cascade, walked: Survey) -> Iterator[Finding]:
    for source in sources:
        for found in references.missing(source, cascade.project, walked):
            text = f"{found.written} is not there any more"
            yield Finding(BROKEN, "reference", source.path, found.line, text)


def _ticking(sources: Sequence[Source], tick: Callable[[int], None]) -> Iterator[Source]:
    for source in sources:
        yield source
        tick(1)


def _stale(
    sources: Iterable[Source], history: History, thresholds: Thresholds, now: float
) -> Iterator[Finding]:
    if not thresholds.stale_days:
        return
    for source in sources:
        age = history.age(source.path, now)
        if age and _is_stale(age, thresholds):
            text = (
                f"last changed {age.days} days ago, and {age.commits_since} commits have been made "
                "around it since: is it still true?"
            )
            yield Finding(DOUBTFUL, "stale", source.path, None, text)


def _is_stale(age: Age, thresholds: Thresholds) -> bool:
    old = age.days >= thresholds.stale_days
    return old and age.commits_since >= max(1, thresholds.stale_commits)


def _same_files(sources: Sequence[Source]) -> Iterator[Finding]:
    """Files that say the same; the client sends each of them."""
    first: dict[str, Source] = {}
    for source in sources:
        if not source.text.strip():
            continue
        other = first.setdefault(source.digest, source)
        if other is not source and conflicts.can_meet(other, source):
            text = f"says the same as {shown_path(other.path, user_home())}"
            yield Finding(DOUBTFUL, "duplicate", source.path, None, text)


def _clashes(said: Sequence[Statement]) -> Iterator[Finding]:
    for clash in conflicts.contradictions(said)[:_MOST_OF_A_KIND]:
        one, other = clash.first, clash.second
        text = (
            f"{_quoted(other)} may contradict {_quoted(one)} ({_place(one)}): "
            f"{_CLASH[clash.kind]}; the model gets both, and this one is nearer to the work"
        )
        yield Finding(DOUBTFUL, "conflict", other.path, other.line, text)


def _repeated(said: Sequence[Statement]) -> Iterator[Finding]:
    for clash in conflicts.repetitions(said)[:_MOST_OF_A_KIND]:
        if clash.first.source.digest == clash.second.source.digest:
            continue
        text = f"{_quoted(clash.second)} is said already ({_place(clash.first)})"
        yield Finding(DOUBTFUL, "repeated", clash.second.path, clash.second.line, text)


def _unread(sources: Sequence[Source]) -> Iterator[Finding]:
    """Files in the project that people may take for loaded."""
    for source in sources:
        if source.client != NEVER or source.level in (ORGANISATION, PRIVATE):
            continue
        if os.path.basename(source.path) == AGENTS or source.imported_by:
            text = f"Claude Code does not load it: {source.client_note}"
            yield Finding(DOUBTFUL, "unread", source.path, None, text)


def _sizes(sources: Sequence[Source], limits: Limits) -> Iterator[Finding]:
    for source in sources:
        count = len(source.text.strip())
        if count > limits.file_characters:
            text = (
                f"has {count:,} characters; over {limits.file_characters:,} it is cut where "
                "brimline assembles rules, and Claude Code sends all of it with every request"
            )
            yield Finding(DOUBTFUL, "large", source.path, None, text)
    start = [source for source in sources if source.client == AT_START]
    total = sum(len(source.text) for source in assemble.unique(start))
    if total > limits.total_characters and start:
        text = (
            f"what loads at the start has {total:,} characters, over {limits.total_characters:,}: "
            "move what holds for a part of the project into a file there"
        )
        yield Finding(DOUBTFUL, "large", start[-1].path, None, text)


def _marked(sources: Sequence[Source]) -> Iterator[Finding]:
    """Marked rules that would not fit into the card after a compaction, even alone."""
    _, cut = markers.fit(markers.marked_in(sources), NOTE_BUDGET_CHARACTERS)
    for rule in cut:
        text = (
            "this marked rule does not fit into what is put back after a compaction "
            f"({NOTE_BUDGET_CHARACTERS:,} characters for all): shorten it or mark fewer"
        )
        yield Finding(DOUBTFUL, "marked", rule.path, rule.line, text)


def _memory(project_dir: str) -> Iterator[Finding]:
    for remark in memoryfiles.check(project_dir):
        severity = BROKEN if remark.is_broken else DOUBTFUL
        yield Finding(severity, "memory", remark.path, remark.line, remark.text)


def _quoted(statement: Statement) -> str:
    text = statement.text
    short = text if len(text) <= _QUOTED_CHARACTERS else text[: _QUOTED_CHARACTERS - 1] + "…"
    return f"“{short}”"


def _place(statement: Statement) -> str:
    return f"{shown_path(statement.path, user_home())}:{statement.line}"
