"""What a purge would save, or has saved, for a person and for a program. Pure."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from brimline.purge import strategies, stubbing

if TYPE_CHECKING:
    from brimline.purge.plan import Plan, Saving
    from brimline.purge.shrink import Prepared
    from brimline.purge.swap import Rewritten

_KILO = 1_000
_SHOWN_CHANGES = 20
_SOURCE_CHARACTERS = 60
_WORDS = {
    **strategies.STRATEGIES,
    strategies.RECENT: "recent results over the threshold keep their first 500 bytes",
    strategies.THINKING: "thoughts of turns that have ended (the API may refuse the session)",
    strategies.COMPACTION: "a compaction that never was, in front (the model takes it for one)",
}


def document(prepared: Prepared) -> dict[str, Any]:
    """All figures, under stable keys."""
    survey, plan = prepared.survey, prepared.plan
    return {
        "path": prepared.path,
        "session": survey.session_id,
        "bytes": survey.length,
        "lines": survey.lines,
        "requests": survey.requests,
        "occupancy_tokens": survey.occupancy_tokens,
        "threshold_bytes": plan.options.threshold_bytes,
        "keep_requests": plan.options.keep_requests,
        "disk_bytes_saved": plan.disk_bytes,
        "context_tokens_saved_estimated": plan.context_tokens,
        "strategies": {name: _saving(plan, name, saving) for name, saving in plan.savings.items()},
        "kept": {
            "recent": plan.kept_recent,
            "pinned": plan.kept_pinned,
            "preserved": plan.kept_preserved,
            "unparsed_lines": survey.unparsed_lines,
        },
    }


def changes(plan: Plan) -> list[dict[str, Any]]:
    """Every result that goes, in the order of the session."""
    found = []
    for offset in sorted(plan.lines):
        for edit in plan.lines[offset].edits:
            if edit.text is not None:
                call = edit.text.call
                found.append(
                    {
                        "request": edit.text.request,
                        "strategy": edit.strategy,
                        "tool": call.name if call else None,
                        "source": call.source if call else None,
                        "bytes": edit.text.size_bytes,
                        "key": stubbing.key_of(edit.text),
                    }
                )
    return found


def preview(prepared: Prepared) -> str:
    """The figures as a table: what goes by which strategy, on the disk and in the context."""
    survey, plan = prepared.survey, prepared.plan
    rows = [["strategy", "items", "disk", "context", ""]]
    rows += [_row(plan, name, saving) for name, saving in plan.savings.items()]
    total = ["total", "", size(plan.disk_bytes), _tokens(plan.context_tokens), ""]
    fill = "unknown" if survey.occupancy_tokens is None else f"{survey.occupancy_tokens:,} tokens"
    figures = f"{size(survey.length)} in {survey.lines:,} lines, {survey.requests:,} requests"
    lines = [
        prepared.path,
        f"{figures}, the last one {fill}",
        "",
        *_table([*rows, total]),
        "",
        "Disk is what the file loses. Context is what the next request loses, estimated: only",
        "results after the last compaction are part of it.",
        *_kept(prepared),
    ]
    return "\n".join(lines)


def listing(plan: Plan) -> str:
    """The results that go, the first of them by name."""
    found = changes(plan)
    lines = [
        f"  request {one['request']:,}: {one['tool'] or 'a tool'} {_shown(one['source'])} "
        f"({size(one['bytes'])}, {one['strategy']})".replace("  (", " (")
        for one in found[:_SHOWN_CHANGES]
    ]
    if len(found) > _SHOWN_CHANGES:
        lines.append(f"  … and {len(found) - _SHOWN_CHANGES:,} more (--json lists all)")
    return "\n".join(["Results that would go:", *lines]) if found else ""


def done(prepared: Prepared, rewritten: Rewritten) -> str:
    """What was done, and the way back."""
    shrunk = f"{size(rewritten.bytes_before)} became {size(rewritten.bytes_after)} on the disk"
    tokens = _tokens(prepared.plan.context_tokens)
    lines = [
        f"Purged: {shrunk}, and the next request is {tokens} smaller (estimated).",
        f"Backup: {rewritten.backup}",
        f"Undo:   {shlex.join(['brimline', 'session', 'restore', prepared.path])}",
    ]
    if rewritten.spliced_lines:
        lines.append(f"{rewritten.spliced_lines:,} lines that came meanwhile were added.")
    if not rewritten.is_over:
        lines.append(
            "A program still has the former file open: what it writes there is added by the next "
            "`brimline session` command."
        )
    return "\n".join(lines)


def size(count: int) -> str:
    """Bytes for a person."""
    sign, number = "-" if count < 0 else "", float(abs(count))
    for unit in ("B", "kB", "MB"):
        if number < _KILO:
            return f"{sign}{number:.0f} {unit}" if unit == "B" else f"{sign}{number:.1f} {unit}"
        number /= _KILO
    return f"{sign}{number:.1f} GB"


def _saving(plan: Plan, name: str, saving: Saving) -> dict[str, int]:
    return {
        "items": saving.items,
        "disk_bytes": saving.disk_bytes,
        "context_items": saving.context_items,
        "context_tokens_estimated": plan.tokens_of(name),
    }


def _row(plan: Plan, name: str, saving: Saving) -> list[str]:
    context = _tokens(plan.tokens_of(name)) if saving.context_items else "none"
    return [name, f"{saving.items:,}", size(saving.disk_bytes), context, _WORDS[name]]


def _tokens(count: int) -> str:
    return f"~{count:,} tokens"


def _kept(prepared: Prepared) -> list[str]:
    plan, survey = prepared.plan, prepared.survey
    counted = [
        (plan.kept_recent, f"large results of the last {plan.options.keep_requests} requests"),
        (plan.kept_pinned, "pinned results"),
        (plan.kept_preserved, "results that a compaction preserved"),
        (survey.unparsed_lines, "lines that are no JSON or too long"),
    ]
    found = [f"{what} ({count:,})" for count, what in counted if count]
    return [f"Left as they are: {', '.join(found)}."] if found else []


def _table(rows: list[list[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            cell.rjust(width) if column in (1, 2, 3) else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _shown(text: str | None) -> str:
    """A foreign text on one line, without anything that a terminal would obey."""
    words = " ".join((text or "").split())
    plain = "".join([character if character.isprintable() else "?" for character in words])
    return plain if len(plain) <= _SOURCE_CHARACTERS else plain[: _SOURCE_CHARACTERS - 1] + "…"
