"""What `brimline session` says for programs: documents under the keys that others rely on."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from brimline import output
from brimline.fast import clock
from brimline.gauge import composition_text
from brimline.session import copies, faults, in_use, inspect
from brimline.session.purge import key_of_item
from brimline.transcript import find

if TYPE_CHECKING:
    from brimline.gauge.context import Context
    from brimline.session.backups import Backup
    from brimline.session.copying import Copied
    from brimline.session.faults import Fault, Findings
    from brimline.session.purge import Plan
    from brimline.session.repair import Report
    from brimline.session.restore import Way
    from brimline.transcript.calls import Call
    from brimline.transcript.read import Progress

_SOURCE_CHARACTERS = 200


def inspection_document(path: str, home_dir: str, progress: Progress = None) -> dict[str, Any]:
    """All that is known under the keys that other programs rely on; unknown is null.

    Raises:
        OSError: the session cannot be read.
    """
    report = inspect.inspect(path, progress)
    # What purges took out since the last request measured it is not there any more.
    report.context.purged = copies.purged_tokens_by_call_since(home_dir, path, report.measured_at)
    return {
        "session_id": report.session_id,
        "transcript": os.path.abspath(path),
        **output.pick_attrs(report, "size_bytes last_at turns"),
        "requests": len(report.occupancies),
        "compactions": len(report.compactions),
        "peak_tokens": max(report.occupancies, default=None),
        **output.pick_attrs(report, "lines first_at"),
        "models": dict(report.models.most_common()),
        "records": dict(report.types.most_common()),
        "occupancy_tokens": report.occupancies,
        "context": _context_document(report.context),
        "resume_tokens_estimated": report.resume_tokens,
        "resume_undoes_a_compaction": report.is_undone,
        "lost_thinking": [
            {"after_request": request, "what": what} for request, what in report.lost_thinking
        ],
        "cleared": [
            output.pick_attrs(one, "by after_request results tokens") | {"what": one.phrase}
            for one in report.clearings
        ],
        "largest_results": [
            _result_document(call, len(report.compactions)) for call in report.largest
        ],
        **_faults_and_notes_document(report.findings),
    }


def _result_document(call: Call, segment: int) -> dict[str, Any]:
    """One result, and where it is so many compactions on."""
    is_there, is_cut = call.segment == segment, call.cut_by_client
    return {
        "bytes": call.size_bytes,
        "tool": call.tool or None,
        "source": call.subject[:_SOURCE_CHARACTERS] or None,
        "request": call.request,
        "in_context": is_there and not call.moved_out and not is_cut,
        "cut_by_client": is_there and is_cut,
        "moved_out": is_there and call.moved_out,
    }


def _context_document(found: Context) -> dict[str, Any]:
    """The next request as far as it is known, and what the last one consisted of."""
    composed = composition_text.composition_document(found.composed)
    names = ("occupancy_tokens", "parts", "tool_results_by_tool", "repeated_reads")
    return {name: composed[name] for name in names} | {
        "since_tokens_estimated": found.since_tokens,
        "purged_since_tokens_estimated": found.purged_tokens,
        "next_request_tokens_estimated": found.next_tokens,
    }


def _faults_and_notes_document(findings: Findings) -> dict[str, Any]:
    """Return what is wrong, and what is merely unusual."""
    return {
        "faults": [_fault_document(fault) for fault in findings.faults],
        "notes": [
            {"kind": kind, "count": count, "meaning": faults.NOTES[kind]}
            for kind, count in findings.notes.items()
        ],
    }


def _fault_document(found: Fault) -> dict[str, Any]:
    return {
        "kind": found.kind,
        "line": found.place.line,
        "detail": found.detail,
        "meaning": faults.MEANINGS[found.kind],
        "mend": found.mend.action if found.mend else None,
        "in_context": found.in_context,
    }


def purge_plan_document(path: str, planned: Plan) -> dict[str, Any]:
    """Return what a purge would save."""
    survey = planned.survey
    return {
        "path": path,
        "session": find.session_id_of(path),
        "bytes": survey.length,
        **output.pick_attrs(survey, "lines requests occupancy_tokens"),
        **output.pick_attrs(planned.options, "threshold_bytes keep_requests"),
        "results": len(planned.results),
        "disk_bytes_saved": planned.saved_disk_bytes,
        "context_tokens_saved_estimated": planned.saved_context_tokens,
        "kept": {**planned.kept, "unparsed_lines": survey.unparsed_lines},
        "thoughts": len(survey.sent.thoughts),
        "thoughts_lost": len(planned.lost_thoughts),
        "thoughts_tokens_estimated": planned.lost_thinking_tokens,
    }


def documents_of_results_to_purge(planned: Plan) -> list[dict[str, Any]]:
    """Every result that goes, in the order of the session."""
    return [
        {
            "request": item.call.request,
            "tool": item.call.tool or None,
            "source": item.call.subject or None,
            "bytes": item.size_bytes,
            "key": key_of_item(item),
        }
        for edits in planned.changes.values()
        for item in edits
        if not item.is_again
    ]


def repair_document(report: Report, *, dry_run: bool) -> dict[str, Any]:
    """Return what a repair found and did."""
    last = report.after or report.before
    return {
        "transcript": report.path,
        "dry_run": dry_run,
        "before": _faults_and_notes_document(report.before),
        "mended": [_fault_document(one) for one in report.before.mendable_faults],
        "left_alone": [_fault_document(one) for one in last.faults_left_alone],
        "after": _faults_and_notes_document(report.after) if report.after else None,
        "changed": report.after is not None,
    }


def copy_document(copied: Copied, cleanup_days: int | None) -> dict[str, Any]:
    """A copy that was made, and what becomes of its original."""
    deleted_at = copies.deleted_at(copied.original, cleanup_days)
    return {
        "applied": True,
        "copy": copied.path,
        "copy_session": copied.session,
        "copy_is_new": copied.is_new,
        "copy_ends_at": copied.last_at or None,
        "bytes_after": copied.size_bytes,
        "is_open": in_use.is_open(copied.original),
        "original_deleted_at": clock.format_utc(deleted_at),
    }


def way_back_document(path: str, way: Way, cleanup_days: int | None) -> dict[str, Any]:
    """Return what a copy is one of, and what becomes of that."""
    deleted_at = copies.deleted_at(way.original, cleanup_days) if way.original else None
    return {
        "path": path,
        "kind": way.copy.kind,
        "original": way.original,
        "original_session": way.copy.original_session,
        "original_deleted_at": deleted_at and clock.format_utc(deleted_at),
        "applied": False,
    }


def backup_list_document(found: list[Backup]) -> dict[str, Any]:
    """Backups, and what they come to."""
    return {
        "backups": [
            output.pick_attrs(backup, "path session size_bytes has_gone_on")
            | {"made_at": clock.format_utc(backup.made_at)}
            | {"copies": list(copies.documents(backup.copies))}
            for backup in found
        ],
        "count": len(found),
        "size_bytes": sum(backup.size_bytes for backup in found),
    }
