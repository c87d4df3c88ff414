"""`brimline session inspect`: what is in a session, on the disk and in the context."""

from __future__ import annotations

import glob
import os
from typing import TYPE_CHECKING, Any

import click

from brimline import clock
from brimline.cli import session as group
from brimline.cli import session_inspect_text as render
from brimline.cli import store_text as text
from brimline.cli.session_progress import Progress
from brimline.purge import faults, restore_record, weights
from brimline.purge import inspect as inspecting
from brimline.transcript import find

if TYPE_CHECKING:
    from brimline.purge.faults import Fault, Findings
    from brimline.purge.inspect import Inspection
    from brimline.transcript.compactions import Recorded


@click.command(context_settings=group.HELP)
@group.file_argument
@group.current_option
@group.session_option
@click.option("--all", "every", is_flag=True, help="One line for each session of this project.")
@group.as_json_option
def inspect(
    *, file: str | None, current: bool, session_id: str | None, every: bool, as_json: bool
) -> None:
    """Look into a session; by default the newest one of this project.

    Bytes on the disk and tokens in the context are counted apart: most of a session's bytes never
    reach the model, and nothing before its last compaction does. Figures with ~ are estimated.

    \b
    Example:
      brimline session inspect
      brimline session inspect --all
      brimline session inspect session.jsonl --json
    """
    if every:
        if file is not None or session_id is not None or current:
            raise click.UsageError("--all takes no FILE, no --session and no --current.")
        _inspect_all(as_json=as_json)
        return
    path = group.target(file, session_id, current=current)
    with Progress("Reading", os.path.getsize(path)) as progress:
        found = inspecting.inspect(path, progress.update)
    _take_out_purged(path, found)
    document = as_document(path, found)
    text.answer(document, "" if as_json else render.session(document), as_json=as_json)


def _take_out_purged(path: str, found: Inspection) -> None:
    """Tell what purges took out since the last request measured the context."""
    measured_at = clock.parse(found.measured_at)
    if measured_at is not None:
        real = os.path.realpath(path)
        session = find.session_id_of(real)
        found.context.take_out(
            restore_record.context_tokens_since(group.home(), session, real, measured_at)
        )


def as_document(path: str, found: Inspection) -> dict[str, Any]:
    """All that is known under the keys that other programs rely on; unknown is null."""
    return {
        **summary(path, found),
        "lines": found.lines,
        "longest_line_bytes": found.longest_line_bytes,
        "first_at": found.first_at,
        "models": dict(found.models.most_common()),
        "records": dict(found.types.most_common()),
        "occupancy_tokens": found.occupancies.tolist(),
        "compaction_list": [_compaction(one) for one in found.compactions],
        "disk_bytes": _disk(found),
        "context": _context(found),
        "largest_results": [
            {
                "bytes": one.size_bytes,
                "tool": one.tool,
                "source": one.source,
                "request": one.request,
                "in_context": one.in_context,
            }
            for one in found.largest
        ],
        "repeated_reads": _repeated(found),
        **findings_document(found.findings),
    }


def summary(path: str, found: Inspection) -> dict[str, Any]:
    """The figures that fit on one line."""
    return {
        "session_id": found.session_id,
        "transcript": os.path.abspath(path),
        "size_bytes": found.size_bytes,
        "last_at": found.last_at,
        "turns": found.turns,
        "requests": found.requests,
        "compactions": len(found.compactions),
        "peak_tokens": max(found.occupancies, default=None),
        "measured_tokens": found.context.measured_tokens,
        "purged_since_tokens_estimated": found.context.purged_tokens,
        "mendable_faults": len(found.findings.mendable),
        "doubtful_faults": len(found.findings.left_alone),
    }


def findings_document(found: Findings) -> dict[str, Any]:
    """What is wrong, and what is merely unusual."""
    return {
        "faults": [fault_document(fault) for fault in found.faults],
        "notes": [
            {
                "kind": kind,
                "count": note.count,
                "first_lines": note.lines,
                "meaning": faults.NOTES[kind],
            }
            for kind, note in found.notes.items()
        ],
    }


def fault_document(fault: Fault) -> dict[str, Any]:
    """One fault."""
    return {
        "kind": fault.kind,
        "line": fault.place.line,
        "detail": fault.detail,
        "meaning": faults.MEANINGS[fault.kind],
        "mend": fault.mend.action if fault.mend else None,
        "in_context": fault.in_context,
    }


def _inspect_all(*, as_json: bool) -> None:
    folder = os.path.dirname(find.newest(os.getcwd()))
    paths = [path for path in glob.glob(f"{glob.escape(folder)}/*.jsonl") if os.path.isfile(path)]
    paths.sort(key=os.path.getmtime, reverse=True)
    sessions, unreadable = [], []
    with Progress("Reading", sum(map(os.path.getsize, paths))) as progress:
        for path in paths:
            try:
                found = inspecting.inspect(path, progress.update)
                _take_out_purged(path, found)
                sessions.append(summary(path, found))
            except OSError as error:
                unreadable.append({"transcript": path, "reason": error.strerror or str(error)})
    document = {"folder": folder, "sessions": sessions, "unreadable": unreadable}
    text.answer(document, "" if as_json else render.sessions(document), as_json=as_json)


def _compaction(one: Recorded) -> dict[str, Any]:
    return {
        "at": clock.format_utc(one.at) if one.at is not None else None,
        "trigger": one.trigger,
        "pre_tokens": one.pre_tokens,
        "post_tokens": one.post_tokens,
        "summary_characters": one.summary_characters,
    }


def _disk(found: Inspection) -> list[dict[str, Any]]:
    return [
        {
            "kind": kind,
            "name": render.DISK_NAMES[kind],
            "bytes": size,
            "share": round(size / found.size_bytes, 4),
            "reaches_the_model": kind in weights.REACH_THE_MODEL,
        }
        for kind, size in found.disk_bytes.most_common()
    ]


def _context(found: Inspection) -> dict[str, Any]:
    context = found.context
    return {
        "measured_tokens": context.measured_tokens,
        "since_tokens_estimated": context.since_tokens,
        "purged_since_tokens_estimated": context.purged_tokens,
        "next_request_tokens_estimated": context.next_tokens,
        "is_complete": context.measured_tokens is not None,
        "kinds": [
            {"kind": kind, "name": render.CONTEXT_NAMES[kind], "tokens_estimated": tokens}
            for kind, tokens in context.kinds.most_common()
            if tokens
        ],
        "results_by_tool": [
            {"tool": tool, "tokens_estimated": tokens}
            for tool, tokens in context.tools.most_common()
            if tokens
        ],
    }


def _repeated(found: Inspection) -> list[dict[str, Any]]:
    in_context = {file.file: file.repeated_tokens for file in found.context.files}
    return [
        {
            "file": one.file,
            "reads": one.reads,
            "repeated_reads": one.repeated_reads,
            "repeated_bytes": one.repeated_bytes,
            "context_tokens_estimated": in_context.get(one.file, 0),
        }
        for one in found.repeated
    ]
