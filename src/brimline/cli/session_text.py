"""What `brimline session` says for a person. Pure but for the look at the terminal."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from itertools import groupby
from typing import TYPE_CHECKING, Any

from brimline.cli import history_text
from brimline.cli import store_text as text
from brimline.session import purge as purging

if TYPE_CHECKING:
    from collections.abc import Sequence

    from brimline.session.purge import Plan
    from brimline.session.rewrite import Rewritten

DISK_NAMES = {
    "tool_result": "tool results",
    "tool_input": "tool inputs",
    "assistant": "assistant text",
    "thinking": "thinking",
    "user": "user text",
    "summary": "summaries of compactions",
    "attachment": "attachments",
    "result_copy": "the client's copies of results",
    "progress": "reports of progress",
    "request_copy": "the client's copies of requests",
    "file_snapshot": "file snapshots",
    "sidechain": "subagents' rows",
    "envelope": "what is written around messages",
    "bookkeeping": "bookkeeping",
    "unreadable": "unreadable or too long: not looked into",
}
CONTEXT_NAMES = {
    "floor": "system, tools, instructions",
    "summary": "summary of what was compacted",
    "user": "user text",
    "assistant": "assistant text",
    "thinking": "thinking",
    "tool_input": "tool inputs",
    "tool_result": "tool results",
    "hook": "injected by hooks",
    "client": "injected by the client",
    "unexplained": "unexplained",
}
_ACTIONS = {
    "split": "each row gets a line of its own",
    "relink": "the row gets another parent",
    "stub": "the result is stored, a short text takes its place",
    "answer": "a result is added that says it is missing",
}
_SHOWN_CHANGES = 20
_BLOCKS, _PLAIN_BLOCKS = "▁▂▃▄▅▆▇█", "_.-=+*%#"
_SHOWN_KINDS = 12
_HOUR_S, _DAY_S = 3_600, 86_400
_SHOWN_RECORDS = 12
_SHOWN_LINES = 5
_LEAST_ROOM = 20
_WIDTH = 100


def session(document: dict[str, Any]) -> str:
    """One session in full."""
    lines = [f"Session {document['session_id']}", *_head(document)]
    lines += _context(document["context"]) + _disk(document)
    lines += _compactions(document["compaction_list"]) + _results(document["largest_results"])
    lines += [*_reads(document["repeated_reads"]), "", *structure(document)]
    return encodable("\n".join(lines))


def sessions(document: dict[str, Any]) -> str:
    """Many sessions, a line each."""
    head = ["last row", "session", "size", "turns", "requests", "compactions", "context", "faults"]
    rows = [
        [
            _moment(one["last_at"]),
            text.shown(one["session_id"], 8),
            text.size(one["size_bytes"]),
            str(one["turns"]),
            str(one["requests"]),
            str(one["compactions"]),
            _context_figure(one),
            str(one["mendable_faults"] + one["doubtful_faults"]),
        ]
        for one in document["sessions"]
    ]
    lines = [f"Sessions in {document['folder']}, newest first"]
    lines.append(text.table(head, rows, {2, 3, 4, 5, 6, 7}))
    lines.append("Context: tokens at the last request since the last compaction; ~ purged since.")
    lines += [f"Not read: {one['transcript']}: {one['reason']}" for one in document["unreadable"]]
    return encodable("\n".join(lines))


def structure(document: dict[str, Any]) -> list[str]:
    """What is wrong, kind by kind, and what is merely unusual."""
    found = document["faults"]
    if not found:
        lines = ["Structure: sound"]
    else:
        mendable = sum(fault["mend"] is not None for fault in found)
        told = f"Structure: {text.count(len(found), 'fault')}"
        lines = [f"{told}; `brimline session repair` mends {mendable}" if mendable else told]
        lines += fault_lines(found)
    for note in document["notes"]:
        lines.append(f"  harmless: {note['meaning']} ({note['count']:,})")
    return lines


def fault_lines(found: Sequence[dict[str, Any]]) -> list[str]:
    """Faults by kind: what they mean, where they are, what would be done about them."""
    lines = []
    ordered = sorted(found, key=lambda fault: (fault["kind"], fault["line"]))
    for kind, group in groupby(ordered, key=lambda fault: fault["kind"]):
        members = list(group)
        lines.append(f"  {len(members):,} {kind}: {members[0]['meaning']}")
        lines += [_fault_line(fault) for fault in members[:_SHOWN_LINES]]
        if len(members) > _SHOWN_LINES:
            lines.append(f"    and {len(members) - _SHOWN_LINES:,} more")
    return lines


def _fault_line(fault: dict[str, Any]) -> str:
    line = f"    line {fault['line']:,}"
    if fault["detail"]:
        line += f": {text.shown(fault['detail'], 120)}"
    if not fault["in_context"]:
        line += " (before the last compaction: in no request)"
    return line


def purge(path: str, plan: Plan) -> str:
    """What goes by which strategy, on the disk and in the context."""
    survey = plan.survey
    fill = "unknown" if survey.occupancy_tokens is None else f"{survey.occupancy_tokens:,} tokens"
    figures = f"{size(survey.length)} in {survey.lines:,} lines, {survey.requests:,} requests"
    rows = [
        [
            name,
            f"{saving.items:,}",
            size(saving.disk_bytes),
            _tokens(plan.tokens_of(name)) if saving.context_items else "none",
            purging.STRATEGIES[name],
        ]
        for name, saving in plan.savings.items()
    ]
    rows.append(["total", "", size(plan.disk_bytes), _tokens(plan.context_tokens), ""])
    kept = [
        (plan.kept["recent"], f"large results of the last {plan.options.keep_requests} requests"),
        (plan.kept["pinned"], "pinned results"),
        (plan.kept["preserved"], "results that a compaction preserved"),
        (survey.unparsed_lines, "lines that are no JSON or too long"),
    ]
    left = [f"{what} ({count:,})" for count, what in kept if count]
    lines = [
        path,
        f"{figures}, the last one {fill}",
        "",
        text.table(["strategy", "items", "disk", "context", ""], rows, {1, 2, 3}),
        "",
        "Disk is what the file loses. Context is what the next request loses, estimated: only",
        "results after the last compaction are part of it.",
        *([f"Left as they are: {', '.join(left)}."] if left else []),
    ]
    return "\n".join(lines)


def changes(found: list[dict[str, Any]]) -> str:
    """The results that go, the first of them by name."""
    lines = ["Results that would go:"]
    for one in found[:_SHOWN_CHANGES]:
        what = " ".join(filter(None, [one["tool"] or "a tool", text.shown(one["source"])]))
        told = f"{size(one['bytes'])}, {one['strategy']}"
        lines.append(f"  request {one['request']:,}: {what} ({told})")
    if len(found) > _SHOWN_CHANGES:
        lines.append(f"  … and {len(found) - _SHOWN_CHANGES:,} more (--json lists all)")
    return "\n".join(lines) if found else ""


def purged(plan: Plan, done: Rewritten) -> str:
    """What was done, and the way back."""
    tokens = _tokens(plan.context_tokens)
    shrunk = f"{size(done.before.length)} became {size(done.after.length)} on the disk"
    lines = [
        f"Purged: {shrunk}, and the next request is {tokens} smaller (estimated).",
        f"Backup: {done.backup}",
        f"Undo:   {shlex.join(['brimline', 'session', 'restore', done.path])}",
    ]
    if done.late_lines:
        lines.append(f"{done.late_lines:,} lines that came meanwhile were added.")
    return "\n".join([*lines, *still_open(is_over=done.is_over)])


def still_open(*, is_over: bool) -> list[str]:
    """What to know where a program may still write to the file that was replaced."""
    told = "A program still has the former file open: what it writes there is added by the next"
    return [] if is_over else [told, "`brimline session` command."]


def found_faults(document: dict[str, Any]) -> list[str]:
    """What is wrong, what is to be done about it, and what is left alone."""
    mended, left = document["mended"], document["left_alone"]
    lines = [text.shown(document["transcript"], 300)]
    if not mended and not left:
        return [*lines, "Sound: no faults."]
    if mended:
        used = {one["mend"] for one in mended}
        lines += ["Faults with one mend:", *fault_lines(mended)]
        lines += [f"  {action}: {told}" for action, told in _ACTIONS.items() if action in used]
    if left:
        lines += ["Left alone, as no mend of them is certain:", *fault_lines(left)]
    return lines


def repaired(document: dict[str, Any]) -> str:
    """What a repair found and did."""
    lines = found_faults(document)
    amount = text.count(len(document["mended"]), "fault")
    if document["after"] is not None:
        left = document["after"]["faults"]
        lines.append(f"Mended {amount}.")
        lines.append(f"After: {text.count(len(left), 'fault')}" + ("" if left else ", sound"))
        lines += [*fault_lines(left), f"Backup: {document['backup']}"]
        lines.append(f"Undo: brimline session restore {document['transcript']}")
    elif document["mended"]:
        lines.append(f"Would mend {amount}; nothing was changed.")
    else:
        lines.append("Nothing to mend.")
    return encodable("\n".join([*lines, *still_open(is_over=not document["is_still_written"])]))


def backups(document: dict[str, Any], ages_s: list[float]) -> str:
    """All backups, a line each."""
    found = document["backups"]
    if not found:
        return "There are no backups."
    rows = [
        [text.size(one["size_bytes"]), _age(age_s), text.shown(one["path"], len(one["path"]))]
        for one, age_s in zip(found, ages_s, strict=True)
    ]
    table = text.table(["size", "age", "backup"], rows, {0, 1})
    return f"{table}\n{text.count(len(found), 'backup')}, {text.size(document['size_bytes'])}."


def size(count: int) -> str:
    """Bytes for a person; a purge may also add some."""
    return f"-{text.size(-count)}" if count < 0 else text.size(count)


def _age(seconds: float) -> str:
    if seconds < _HOUR_S:
        return f"{max(0, round(seconds / 60))} min"
    return f"{seconds / _HOUR_S:.0f} h" if seconds < 2 * _DAY_S else f"{seconds / _DAY_S:.0f} d"


def _tokens(count: int) -> str:
    return f"~{count:,} tokens"


def _head(document: dict[str, Any]) -> list[str]:
    occupancies = document["occupancy_tokens"]
    counted = [text.count(document[f"{noun}s"], noun) for noun in ("turn", "request", "compaction")]
    size, lines_there = text.size(document["size_bytes"]), text.count(document["lines"], "line")
    lines = [
        f"  file         {text.shown(document['transcript'], 300)}",
        f"  size         {size}, {lines_there}",
        f"  active       {_moment(document['first_at'])} to {_moment(document['last_at'])}",
        f"  went on for  {', '.join(counted)}",
    ]
    for model, requests in document["models"].items():
        lines.append(f"  model        {text.shown(model)} ({text.count(requests, 'request')})")
    if occupancies:
        curve = history_text.sparkline(occupancies, None, _blocks())
        lines.append(f"  occupancy    {curve}")
        lines.append(
            f"               at most {max(occupancies):,}, last {occupancies[-1]:,} tokens"
        )
    kinds = list(document["records"].items())
    shown = [f"{text.shown(kind)} {count:,}" for kind, count in kinds[:_SHOWN_RECORDS]]
    rest = sum(count for _, count in kinds[_SHOWN_RECORDS:])
    lines.append(f"  records      {', '.join(shown + ([f'others {rest:,}'] if rest else []))}")
    return lines


def _context(context: dict[str, Any]) -> list[str]:
    since = f"~{context['since_tokens_estimated']:,} since"
    if context["is_complete"]:
        title = (
            f"In the context: {context['measured_tokens']:,} tokens at the last request, {since}"
        )
    else:
        title = (
            f"In the context: {since} the session began or compacted; no request has measured it "
            "yet, and the system prompt and the tools are not counted"
        )
    whole = context["next_request_tokens_estimated"]
    purged = context["purged_since_tokens_estimated"]
    if purged:
        title += f"\nThat was before a purge, which took out ~{purged:,}: the next one ~{whole:,}"
    rows = [
        [f"~{one['tokens_estimated']:,}", _share(one["tokens_estimated"], whole), one["name"]]
        for one in context["kinds"][:_SHOWN_KINDS]
    ]
    return ["", title, *_columns(rows, 2)]


def _disk(document: dict[str, Any]) -> list[str]:
    found = document["disk_bytes"]
    sent = sum(one["bytes"] for one in found if one["reaches_the_model"])
    title = (
        f"On the disk: {text.size(document['size_bytes'])}, of which "
        f"{text.size(sent)} are texts that may reach the model"
    )
    rows = [
        [
            text.size(one["bytes"]),
            f"{one['share']:.0%}",
            one["name"] + _sent(one),
        ]
        for one in found[:_SHOWN_KINDS]
    ]
    return ["", title, *_columns(rows, 2)]


def _sent(one: dict[str, Any]) -> str:
    if one["reaches_the_model"] or one["kind"] == "unreadable":
        return ""
    return " (never sent)"


def _compactions(found: list[dict[str, Any]]) -> list[str]:
    if not found:
        return []
    rows = [
        [
            _moment(one["at"]),
            one["trigger"] or "unknown",
            f"{_figure(one['pre_tokens'])} tokens to {_figure(one['post_tokens'])},",
            f"summary {_figure(one['summary_characters'])} characters",
        ]
        for one in found
    ]
    return ["", "Compactions", *_columns(rows, 0)]


def _results(found: list[dict[str, Any]]) -> list[str]:
    if not found:
        return []
    rows = [
        [
            text.size(one["bytes"]),
            f"request {one['request']:,}",
            "in the context" if one["in_context"] else "compacted",
            text.shown(one["tool"] or "unknown", 24),
            one["source"] or "",
        ]
        for one in found
    ]
    return ["", "Largest results", *_columns(rows, 1)]


def _reads(found: list[dict[str, Any]]) -> list[str]:
    if not found:
        return []
    rows = [
        [
            text.size(one["repeated_bytes"]),
            f"{one['repeated_reads']} of {text.count(one['reads'], 'read')} again",
            f"~{one['context_tokens_estimated']:,} tokens in the context",
            one["file"],
        ]
        for one in found
    ]
    return ["", "Read again", *_columns(rows, 1)]


def _columns(rows: list[list[str]], right: int) -> list[str]:
    """Rows in columns, the first ones to the right; the last takes the room that is left."""
    if not rows:
        return []
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    room = max(_LEAST_ROOM, _width() - sum(widths) - 2 * len(widths) - 2)
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if column < right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row[:-1], widths, strict=True))
        ]
        lines.append("  " + "  ".join([*cells, _last(row[-1], room)]).rstrip())
    return lines


def _last(cell: str, room: int) -> str:
    """A foreign text; of a path the end matters."""
    here = os.getcwd() + os.sep
    shown = text.shown(cell.removeprefix(here), 4_000)
    if len(shown) <= room:
        return shown
    return "…" + shown[1 - room :] if shown.startswith(("/", "…")) else shown[: room - 1] + "…"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else ""


def _figure(value: int | None) -> str:
    return "unknown" if value is None else f"{value:,}"


def _context_figure(one: dict[str, Any]) -> str:
    purged = one["purged_since_tokens_estimated"]
    return f"~{one['measured_tokens'] - purged:,}" if purged else _figure(one["measured_tokens"])


def _moment(moment: str | None) -> str:
    return text.minute(text.shown(moment)) if moment else "unknown"


def _width() -> int:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else _WIDTH


def _blocks() -> str:
    return _BLOCKS if encodable(_BLOCKS) == _BLOCKS else _PLAIN_BLOCKS


def encodable(shown: str) -> str:
    """The text as far as the terminal knows its letters."""
    encoding = sys.stdout.encoding or "ascii"
    try:
        return shown.encode(encoding, "replace").decode(encoding)
    except LookupError:
        return shown.encode("ascii", "replace").decode("ascii")
