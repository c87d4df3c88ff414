"""What `brimline rules` reports, as documents for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from brimline.cli.store_text import Progress
from brimline.gauge.composition import estimate_tokens
from brimline.rules import (
    api,
    assemble,
    conflicts,
    lint,
    markers,
    places,
    statements,
    survey,
)
from brimline.rules.model import AT_START, NEVER, ORGANISATION, PRIVATE
from brimline.transcript.pieces import Piece

if TYPE_CHECKING:
    from collections.abc import Sequence

    from brimline.rules.model import Source

# What becomes of a file at a compaction, by when the client loads it.
KEPT, LOST, OURS, ABSENT = "loaded again", "when read again", "added again", "not there"


def listing(project_dir: str, values: dict[str, Any]) -> dict[str, Any]:
    """Everything that can load in a project, and what it costs."""
    walked = survey.survey(project_dir)
    cascade = api.gather(project_dir, (), values, folders=walked.folders, all_scopes=True)
    files = _files(cascade.sources)
    marked = markers.marked_in(cascade.sources)
    return {
        "project": cascade.project.folder,
        "files": files,
        "tokens_at_start": sum(each["tokens"] for each in files if each["client"] == AT_START),
        "tokens_on_demand": sum(
            each["tokens"] for each in files if each["client"] not in (AT_START, NEVER)
        ),
        "tokens_are_estimated": True,
        "marked_rules": len(marked),
        "marked_characters": sum(len(rule.text) for rule in marked),
        "problems": len(cascade.problems),
        "all_folders_searched": walked.is_complete,
    }


def explanation(project_dir: str, path: str, values: dict[str, Any]) -> dict[str, Any]:
    """What holds for one file: the files, weakest first, and what each says."""
    cascade = api.gather(project_dir, (path,), values)
    active = places.absolute(cascade.project, path)
    said = list(statements.statements(assemble.unique(cascade.sources)))
    files = _files(cascade.sources)
    for each in files:
        each["rules"] = [
            {"id": s.identity, "line": s.line, "text": s.text, "marked": s.is_marked}
            for s in said
            if s.path == each["path"]
        ]
    return {
        "project": cascade.project.folder,
        "path": active,
        "inside_project": active == cascade.project.folder
        or active.startswith(cascade.project.folder + "/"),
        "files": files,
        "conflicts": [_clash(clash) for clash in conflicts.contradictions(said)],
        "problems": [_place(p.path, p.line) | {"text": p.text} for p in cascade.problems],
    }


def findings(project_dir: str, values: dict[str, Any], now: float) -> dict[str, Any]:
    """What is wrong with the files."""
    walked = survey.survey(project_dir)
    cascade = api.gather(project_dir, (), values, folders=walked.folders, all_scopes=True)
    thresholds = lint.Thresholds(values["rules.stale_days"], values["rules.stale_commits"])
    limits = api.limits(project_dir, values)
    with Progress(len(cascade.sources), "Checking ages") as progress:
        found = lint.lint(cascade, limits, thresholds, walked, now, progress.update)
    return {
        "project": cascade.project.folder,
        "files": len(cascade.sources),
        "broken": sum(each.severity == lint.BROKEN for each in found.findings),
        "doubtful": sum(each.severity == lint.DOUBTFUL for each in found.findings),
        "findings": [
            {"severity": each.severity, "kind": each.kind, "text": each.text}
            | _place(each.path, each.line)
            for each in found.findings
        ],
        "notes": found.notes,
    }


def assembly(project_dir: str, path: str | None, values: dict[str, Any]) -> dict[str, Any]:
    """All rules as one text."""
    cascade = api.gather(project_dir, (path,) if path else (), values)
    limits = api.limits(project_dir, values)
    home = places.user_home()
    made = assemble.assemble(cascade.sources, limits, home, has_file=path is not None)
    stable, boundary, _ = made.text.partition(assemble.BOUNDARY)
    return {
        "text": made.text,
        "characters": len(made.text),
        "stable_characters": len(stable) if boundary else len(made.text),
        "cut": made.cut,
        "left_out": made.left_out,
    }


def _files(sources: Sequence[Source]) -> list[dict[str, Any]]:
    first: dict[str, str] = {}
    found = []
    for source in sources:
        speaks = bool(source.text.strip())
        same = first.setdefault(source.digest, source.path) if speaks else source.path
        found.append(
            {
                "path": source.path,
                "level": source.level,
                "why": source.why,
                "client": source.client,
                "client_note": source.client_note,
                "after_compaction": _after_compaction(source),
                "paths": list(source.patterns),
                "imported_by": source.imported_by,
                "same_as": same if same != source.path else None,
                "characters": len(source.text),
                "tokens": round(estimate_tokens(Piece("text", len(source.text)), None)),
                "problem": source.problem,
            }
        )
    return found


def _after_compaction(source: Source) -> str:
    """What the client does; files it does not know come back by brimline's own hook."""
    if source.client == AT_START:
        return KEPT
    if source.client != NEVER:
        return LOST
    return OURS if source.level in (ORGANISATION, PRIVATE) else ABSENT


def _clash(clash: conflicts.Clash) -> dict[str, Any]:
    weaker, nearer = clash.first, clash.second
    return {
        "kind": clash.kind,
        "weaker": _place(weaker.path, weaker.line) | {"text": weaker.text},
        "nearer": _place(nearer.path, nearer.line) | {"text": nearer.text},
    }


def _place(path: str, line: int | None) -> dict[str, Any]:
    return {"path": path, "line": line}
