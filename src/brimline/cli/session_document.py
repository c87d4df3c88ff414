"""What `brimline session` says for programs: documents under the keys that others rely on."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from brimline import clock, output
from brimline.gauge import composition
from brimline.session import faults, inspect
from brimline.session.purge import key_of

if TYPE_CHECKING:
    from brimline.session.faults import Fault, Findings
    from brimline.session.inspect import Inspection
    from brimline.session.purge import Plan
    from brimline.session.repair import Report
    from brimline.session.restore import Backup
    from brimline.transcript.compactions import Recorded

_DISK_NAMES = {
    "tool_result": "tool results",
    "tool_input": "tool inputs",
    "assistant": "assistant text",
    "thinking": "thinking",
    "user": "user text",
    "summary": "summaries of compactions",
    "attachment": "attachments",
    "result_copy": "the client's copies of results",
    "progress": "reports of progress",
    "file_snapshot": "file snapshots",
    "sidechain": "subagents' rows",
    "envelope": "what is written around messages",
    "bookkeeping": "bookkeeping",
    "unreadable": "unreadable or too long: not looked into",
}


def inspection(path: str, found: Inspection) -> dict[str, Any]:
    """All that is known under the keys that other programs rely on; unknown is null."""
    again = [file for file in found.context.files if file.repeated_tokens]
    return {
        "session_id": found.session_id,
        "transcript": os.path.abspath(path),
        **output.fields(found, "size_bytes last_at turns requests"),
        "compactions": len(found.compactions),
        "peak_tokens": max(found.occupancies, default=None),
        "measured_tokens": found.context.measured_tokens,
        "purged_since_tokens_estimated": found.context.purged_tokens,
        "mendable_faults": len(found.findings.mendable),
        "doubtful_faults": len(found.findings.left_alone),
        **output.fields(found, "lines first_at"),
        "models": dict(found.models.most_common()),
        "records": dict(found.types.most_common()),
        "occupancy_tokens": found.occupancies.tolist(),
        "compaction_list": [_compaction(one) for one in found.compactions],
        "disk_bytes": [
            {
                "kind": kind,
                "name": _DISK_NAMES[kind],
                "bytes": size,
                "share": round(size / found.size_bytes, 4),
                "reaches_the_model": kind in inspect.REACH_THE_MODEL,
            }
            for kind, size in found.disk_bytes.most_common()
        ],
        "context": _context(found),
        "largest_results": [
            {"bytes": one.size_bytes, **output.fields(one, "tool source request in_context")}
            for one in found.largest
        ],
        "repeated_reads": [
            {"file": one.file, "reads": one.reads, "tokens_repeated": one.repeated_tokens}
            for one in sorted(again, key=lambda one: (-one.repeated_tokens, one.file))
        ],
        **_findings(found.findings),
    }


def _compaction(one: Recorded) -> dict[str, Any]:
    at = clock.format_utc(one.at) if one.at is not None else None
    return {"at": at, **output.fields(one, "trigger pre_tokens post_tokens summary_characters")}


def _context(found: Inspection) -> dict[str, Any]:
    context = found.context
    return {
        "measured_tokens": context.measured_tokens,
        "since_tokens_estimated": context.since_tokens,
        "purged_since_tokens_estimated": context.purged_tokens,
        "next_request_tokens_estimated": context.next_tokens,
        "is_complete": context.measured_tokens is not None,
        "kinds": [
            {"kind": kind, "name": composition.NAMES[kind], "tokens_estimated": tokens}
            for kind, tokens in context.kinds.most_common()
            if tokens
        ],
        "results_by_tool": [
            {"tool": tool, "tokens_estimated": tokens}
            for tool, tokens in context.tools.most_common()
            if tokens
        ],
    }


def _findings(found: Findings) -> dict[str, Any]:
    """What is wrong, and what is merely unusual."""
    return {
        "faults": [_fault(one) for one in found.faults],
        "notes": [
            {"kind": kind, "count": note.count, "first_lines": note.lines}
            | {"meaning": faults.NOTES[kind]}
            for kind, note in found.notes.items()
        ],
    }


def _fault(found: Fault) -> dict[str, Any]:
    return {
        "kind": found.kind,
        "line": found.place.line,
        "detail": found.detail,
        "meaning": faults.MEANINGS[found.kind],
        "mend": found.mend.action if found.mend else None,
        "in_context": found.in_context,
    }


def purge(path: str, planned: Plan) -> dict[str, Any]:
    """What a purge would save."""
    survey = planned.survey
    return {
        "path": path,
        "session": survey.session_id,
        "bytes": survey.length,
        **output.fields(survey, "lines requests occupancy_tokens"),
        **output.fields(planned.options, "threshold_bytes keep_requests"),
        "disk_bytes_saved": planned.disk_bytes,
        "context_tokens_saved_estimated": planned.context_tokens,
        "strategies": {
            name: output.fields(saving, "items disk_bytes context_items")
            | {"context_tokens_estimated": planned.tokens_of(name)}
            for name, saving in planned.savings.items()
        },
        "kept": {**planned.kept, "unparsed_lines": survey.unparsed_lines},
    }


def changes(planned: Plan) -> list[dict[str, Any]]:
    """Every result that goes, in the order of the session."""
    return [
        {
            "request": item.request,
            "strategy": item.strategy,
            "tool": item.call.name if item.call else None,
            "source": item.call.source if item.call else None,
            "bytes": item.size_bytes,
            "key": key_of(item),
        }
        for edits in planned.changes.values()
        for item in edits
        if item.digest
    ]


def repair(report: Report, *, dry_run: bool) -> dict[str, Any]:
    """What a repair found and did."""
    return {
        "transcript": report.path,
        "dry_run": dry_run,
        "before": _findings(report.before),
        "mended": [_fault(one) for one in report.mended],
        "left_alone": [_fault(one) for one in report.left_alone],
        "after": _findings(report.after) if report.after else None,
        "changed": report.after is not None,
        "backup": report.backup,
        "is_still_written": not report.is_over,
    }


def backups(found: list[Backup]) -> dict[str, Any]:
    """Backups, and what they come to."""
    return {
        "backups": [
            output.fields(one, "path session size_bytes")
            | {"made_at": clock.format_utc(one.made_at)}
            for one in found
        ],
        "count": len(found),
        "size_bytes": sum(one.size_bytes for one in found),
    }
