"""How `brimline rules` speaks to people."""

from __future__ import annotations

from typing import Any, NamedTuple

from brimline.rules import places
from brimline.rules.assemble import shown_path
from brimline.rules.model import AT_START, NEVER, ON_MATCH, ON_READ, ORGANISATION, PRIVATE

_WHEN = {
    AT_START: "at the start",
    ON_READ: "when a file there is read",
    ON_MATCH: "when a file that matches is read",
    NEVER: "no",
}
_ORDER = (
    "The order is that of the cascade, weakest first: where two disagree, the later one is nearer "
    "to the work. Claude Code sends all of them and leaves the choice to the model."
)


_BY_US = "Claude Code does not know it; brimline's SessionStart hook adds it"


class _Names(NamedTuple):
    """The folders by which paths are shortened."""

    home: str
    project: str


def listing(report: dict[str, Any]) -> str:
    """The files in a table, then what they come to."""
    names = _Names(places.user_home(), report["project"])
    if not report["files"]:
        return f"No instruction files hold in {report['project']}. Write a CLAUDE.md to begin."
    rows = [_row(at, each, names) for at, each in enumerate(report["files"], 1)]
    head = ["#", "level", "file", "Claude Code loads it", "after a compaction", "tokens"]
    lines = [
        f"Instruction files in {_plain(shown_path(report['project'], names.home))}, weakest first.",
        "",
        _table(head, rows),
        "",
        *_notes(report["files"], names),
        _totals(report),
        _ORDER,
    ]
    if not report["all_folders_searched"]:
        lines.append("The project is large: not every folder was searched.")
    if report["problems"]:
        lines.append(f"{_count(report['problems'], 'problem')}: `brimline rules lint` lists them.")
    return "\n".join(lines)


def explanation(report: dict[str, Any]) -> str:
    """File by file what it says, then what clashes."""
    names = _Names(places.user_home(), report["project"])
    lines = [f"What holds for {_shown(report['path'], names)}, weakest first."]
    if not report["inside_project"]:
        lines.append("It lies outside the project, so only what loads at the start holds.")
    for at, each in enumerate(report["files"], 1):
        lines += ["", *_explained(at, each, names)]
    if not report["files"]:
        lines.append("Nothing does.")
    if report["conflicts"]:
        lines += ["", "Possible conflicts:"]
        lines += [_conflict(clash, names) for clash in report["conflicts"]]
    if report["problems"]:
        lines += ["", "Problems:", *[_finding(each, names) for each in report["problems"]]]
    return "\n".join([*lines, "", _ORDER])


def findings(report: dict[str, Any]) -> str:
    """One line each, the broken ones first."""
    names = _Names(places.user_home(), report["project"])
    by_severity = sorted(report["findings"], key=lambda each: str(each["severity"]))
    lines = [f"{each['severity']:9}{_finding(each, names)}" for each in by_severity]
    lines += [f"note     {each}" for each in report["notes"]]
    files = _count(report["files"], "instruction file")
    lines.append(f"{files}: {report['broken']} broken, {report['doubtful']} doubtful.")
    return "\n".join(lines)


def _totals(report: dict[str, Any]) -> str:
    marked = _count(report["marked_rules"], "marked rule")
    return (
        f"At the start ~{report['tokens_at_start']:,} tokens, on demand up to "
        f"~{report['tokens_on_demand']:,} more (estimated from the length). "
        f"{marked} with {report['marked_characters']:,} characters."
    )


def _row(at: int, each: dict[str, Any], names: _Names) -> list[str]:
    return [
        str(at),
        each["level"],
        ("  @" if each["imported_by"] else "") + _shown(each["path"], names),
        _WHEN[each["client"]],
        each["after_compaction"],
        f"~{each['tokens']:,}",
    ]


def _notes(files: list[dict[str, Any]], names: _Names) -> list[str]:
    """What a table has no room for, by the number of the row."""
    notes = []
    for at, each in enumerate(files, 1):
        if each["same_as"]:
            notes.append(f"{at}: says the same as {_shown(each['same_as'], names)}")
        if each["paths"]:
            notes.append(f"{at}: for {_plain(', '.join(each['paths']))}")
        if each["client_note"]:
            notes.append(f"{at}: {each['client_note']}")
        elif each["client"] == NEVER and each["level"] in (ORGANISATION, PRIVATE):
            notes.append(f"{at}: {_BY_US}")
        if each["problem"]:
            notes.append(f"{at}: {each['problem']}")
    return [*notes, ""] if notes else []


def _explained(at: int, each: dict[str, Any], names: _Names) -> list[str]:
    when = _WHEN[each["client"]]
    if each["client_note"]:
        when = f"no: {each['client_note']}"
    after = f"After a compaction: {each['after_compaction']}. ~{each['tokens']:,} tokens."
    lines = [
        f"{at}. {_shown(each['path'], names)}  ({each['level']}: {_plain(each['why'])})",
        f"   Claude Code loads it: {when}. {after}",
    ]
    if each["same_as"]:
        lines.append(f"   Says the same as {_shown(each['same_as'], names)}; counted there.")
    for rule in each["rules"]:
        mark = "!" if rule["marked"] else " "
        lines.append(f"   {mark} {rule['line']:>4}  {_plain(rule['text'])}")
    return lines


def _conflict(clash: dict[str, Any], names: _Names) -> str:
    weaker, nearer = clash["weaker"], clash["nearer"]
    return (
        f"  “{_plain(nearer['text'])}” ({_place(nearer, names)}) is nearer than "
        f"“{_plain(weaker['text'])}” ({_place(weaker, names)})"
    )


def _finding(each: dict[str, Any], names: _Names) -> str:
    return f"{_place(each, names)}: {_plain(each['text'])}"


def _place(each: dict[str, Any], names: _Names) -> str:
    line = f":{each['line']}" if each["line"] else ""
    return f"{_shown(each['path'], names)}{line}"


def _shown(path: str, names: _Names) -> str:
    """From the project's folder or the home folder, where it lies in one."""
    inside = path.startswith(names.project.rstrip("/") + "/")
    within = path[len(names.project.rstrip("/")) + 1 :]
    return _plain(within if inside else shown_path(path, names.home))


def _plain(text: str) -> str:
    """A foreign text on one line, without anything that a terminal would obey."""
    return "".join([c if c.isprintable() else "?" for c in " ".join(text.split())])


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _table(head: list[str], rows: list[list[str]]) -> str:
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    last = len(head) - 1
    lines = [
        "  ".join(
            cell.rjust(width) if column in (0, last) else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in [head, *rows]
    ]
    return "\n".join(lines)
