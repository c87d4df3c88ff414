"""`brimline rules`: which instruction files hold here, why, at what cost, with which faults."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from brimline import clock, output
from brimline.errors import ConfigError
from brimline.fast import paths
from brimline.gauge.composition import estimate_tokens
from brimline.rules import cascade, lint, marked
from brimline.rules.cascade import AT_START, NEVER, ON_MATCH, ON_READ, shown
from brimline.settings import config
from brimline.transcript.pieces import Piece

if TYPE_CHECKING:
    from collections.abc import Sequence

    from brimline.rules.cascade import Cascade, Source
    from brimline.rules.lint import Survey

# A command may look into a large monorepo; a hook reads a tenth of that.
_MOST_CHARACTERS = 4_000_000
_WHEN = {
    AT_START: "at the start",
    ON_READ: "when a file there is read",
    ON_MATCH: "when a file that matches is read",
    NEVER: "no",
}
_BY_US = "Claude Code does not know it; brimline adds it at the start"
_ORDER = (
    "Weakest first: where two disagree, the later one is nearer to the work. Claude Code sends all "
    "of them and leaves the choice to the model."
)


@output.command("show")
@click.argument("path", metavar="[PATH]", required=False)
@click.option("--text", "as_text", is_flag=True, help="Print all rules as one text.")
def show_command(path: str | None, as_text: bool, as_json: bool) -> None:
    """List what loads here, when and at what cost. With PATH, what holds for that file.

    Tokens are estimated from the length. --text has at most 4,000 characters of a file and 12,000
    in all; what is cut says so, and what depends on PATH stands at the end.

    \b
    Example:
      brimline rules show
      brimline rules show --text src/api/server.py > rules.txt
    """
    walked = lint.survey(os.getcwd()) if path is None and not as_text else None
    gathered = _gather(path, walked)
    if as_text:
        made = marked.assemble(gathered.sources, has_file=path is not None)
        output.answer({"text": made}, made.rstrip("\n"), as_json=as_json)
        return
    document = _listing(gathered) | {"is_complete": walked is None or walked.is_complete}
    output.answer(document, _listed, as_json=as_json)


@output.command("explain")
@click.argument("path", metavar="PATH")
def explain_command(path: str, as_json: bool) -> None:
    """Say which rules hold for a file or folder, and where from.

    PATH need not exist yet.

    \b
    Example:
      brimline rules explain src/api/server.py
    """
    gathered = _gather(path)
    active = cascade.absolute(gathered.folder, path)
    document = _listing(gathered) | {"path": active}
    for each, source in zip(document["files"], gathered.sources, strict=True):
        said = [] if each["same_as"] else lint.rules_of(source)
        each["rules"] = [
            {"id": rule.identity, "line": rule.line, "text": rule.text}
            | {"marked": bool(marked.MARK.search(rule.text))}
            for rule in said
        ]
    output.answer(document, _explained, as_json=as_json)


@output.command("lint")
@click.option("--strict", is_flag=True, help="End with code 1 on doubtful findings too.")
def lint_command(strict: bool, as_json: bool) -> None:
    """Check for missing, circular, double, stale, large rules.

    Ends with code 1 where something is broken.

    \b
    Example:
      brimline rules lint
      brimline rules lint --strict --json
    """
    walked = lint.survey(os.getcwd())
    gathered = _gather(None, walked)
    findings, notes = lint.lint(gathered, walked, clock.now())
    findings.sort(key=lambda each: not each.is_broken)
    broken = sum(each.is_broken for each in findings)
    document = {
        "project": gathered.folder,
        "files": len(gathered.sources),
        "broken": broken,
        "doubtful": len(findings) - broken,
        "findings": [
            {"severity": "broken" if each.is_broken else "doubtful"} | each._asdict()
            for each in findings
        ],
        "notes": notes,
    }
    output.answer(document, _linted, as_json=as_json)
    if broken or (strict and findings):
        raise SystemExit(1)


def _gather(path: str | None, walked: Survey | None = None) -> Cascade:
    if path is not None and (not path.strip() or "\0" in path):
        raise ConfigError("PATH is empty: name a file or folder of the project")
    values = config.load(paths.home(), os.getcwd()).values
    return cascade.gather(
        os.getcwd(),
        path or "",
        organisation_file=values["rules.organisation_file"],
        folders=walked.folders if walked else (),
        all_scopes=walked is not None,
        most_characters=_MOST_CHARACTERS,
    )


def _listing(gathered: Cascade) -> dict[str, Any]:
    """What loads, as a document for programs."""
    files = _files(gathered.sources)
    kept = marked.marked_in(gathered.sources)
    at_start = [each["tokens"] for each in files if each["client"] == AT_START]
    on_demand = [each["tokens"] for each in files if each["client"] in (ON_READ, ON_MATCH)]
    return {
        "project": gathered.folder,
        "files": files,
        "tokens_at_start": sum(at_start),
        "tokens_on_demand": sum(on_demand),
        "marked_rules": len(kept),
        "problems": [each._asdict() for each in gathered.problems],
    }


def _files(sources: Sequence[Source]) -> list[dict[str, Any]]:
    first: dict[str, str] = {}
    found = []
    for source in sources:
        speaks = bool(source.text.strip())
        same = first.setdefault(source.digest, source.path) if speaks else source.path
        added = source.client == NEVER and marked.in_force(source)
        found.append(
            output.fields(source, "path level why client client_note patterns imported_by")
            | {
                "client_note": source.client_note or (_BY_US if added else ""),
                "survives_compaction": marked.in_force(source),
                "same_as": same if same != source.path else None,
                "characters": len(source.text),
                "tokens": round(estimate_tokens(Piece("text", len(source.text)), None)),
            }
        )
    return found


def _listed(document: dict[str, Any]) -> str:
    """The files for a person, then what they come to."""
    project = document["project"]
    if not document["files"]:
        return f"No instruction files hold in {shown(project)}. Write a CLAUDE.md to begin."
    lines = [f"Instruction files in {shown(project)}, weakest first.", ""]
    for at, each in enumerate(document["files"], 1):
        name = ("  @" if each["imported_by"] else "") + shown(each["path"], project)
        lines.append(f"{at:3}  {each['level']:12}  ~{each['tokens']:<7,} {name}")
        lines += _notes(each, project)
    more = f"~{document['tokens_on_demand']:,} more on demand, estimated from the length"
    lines += ["", f"~{document['tokens_at_start']:,} tokens at the start, {more}."]
    lines += [f"Marked rules: {document['marked_rules']}."]
    if document["problems"]:
        lines.append(f"Problems: {len(document['problems'])}, see `brimline rules lint`.")
    if not document["is_complete"]:
        lines.append("The project is large: not every folder was searched.")
    return "\n".join(lines)


def _explained(document: dict[str, Any]) -> str:
    """The rules that hold for a path, file by file."""
    project = document["project"]
    lines = [f"What holds for {shown(document['path'], project)}, weakest first."]
    for at, each in enumerate(document["files"], 1):
        origin = f"({each['level']}: {each['why']})"
        lines += ["", f"{at}. {shown(each['path'], project)}  {origin}", *_notes(each, project)]
        for rule in each["rules"]:
            lines.append(f"   {'!' if rule['marked'] else ' '}{rule['line']:5}  {rule['text']}")
    return "\n".join([*lines, "", output.wrapped(_ORDER)])


def _linted(document: dict[str, Any]) -> str:
    """What is wrong, a paragraph each."""
    told = []
    for each in document["findings"]:
        line = f":{each['line']}" if each["line"] else ""
        place = f"{shown(each['path'], document['project'])}{line}"
        told.append((each["severity"], f"{place}: {each['text']}"))
    told += [("note", note) for note in document["notes"]]
    lines = [output.wrapped(text, f"{kind:9}", " " * 9) for kind, text in told]
    counted = output.count(document["files"], "instruction file")
    lines.append(f"{counted}: {document['broken']} broken, {document['doubtful']} doubtful.")
    return "\n".join(lines)


def _notes(each: dict[str, Any], project: str) -> list[str]:
    """When the client loads a file, and what else there is to say."""
    why_not = f": {each['client_note']}" if each["client_note"] else ""
    is_kept = each["survives_compaction"] or each["client"] == NEVER
    lost = "" if is_kept else "; lost at a compaction"
    notes = [f"loads: {_WHEN[each['client']]}{why_not}{lost}"]
    notes += [f"for {', '.join(each['patterns'])}"] if each["patterns"] else []
    same = each["same_as"]
    notes += [f"says the same as {shown(same, project)}, and is counted there"] if same else []
    return [output.wrapped(note, " " * 5, " " * 7) for note in notes]
