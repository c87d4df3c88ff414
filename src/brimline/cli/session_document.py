"""What `brimline session` says for programs: documents under the keys that others rely on."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from brimline import clock
from brimline.cli.session_text import CONTEXT_NAMES, DISK_NAMES
from brimline.session import faults
from brimline.session import inspect as inspecting
from brimline.session import purge as purging

if TYPE_CHECKING:
    from brimline.session.faults import Fault, Findings
    from brimline.session.inspect import Inspection
    from brimline.session.purge import Plan
    from brimline.session.repair import Report
    from brimline.transcript.compactions import Recorded


def inspection(path: str, found: Inspection) -> dict[str, Any]:
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
        **findings(found.findings),
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


def findings(found: Findings) -> dict[str, Any]:
    """What is wrong, and what is merely unusual."""
    return {
        "faults": [fault(one) for one in found.faults],
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


def fault(found: Fault) -> dict[str, Any]:
    """One fault."""
    return {
        "kind": found.kind,
        "line": found.place.line,
        "detail": found.detail,
        "meaning": faults.MEANINGS[found.kind],
        "mend": found.mend.action if found.mend else None,
        "in_context": found.in_context,
    }


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
            "name": DISK_NAMES[kind],
            "bytes": size,
            "share": round(size / found.size_bytes, 4),
            "reaches_the_model": kind in inspecting.REACH_THE_MODEL,
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
            {"kind": kind, "name": CONTEXT_NAMES[kind], "tokens_estimated": tokens}
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


def purge(path: str, plan: Plan) -> dict[str, Any]:
    """What a purge would save."""
    survey = plan.survey
    return {
        "path": path,
        "session": survey.session_id,
        "bytes": survey.length,
        "lines": survey.lines,
        "requests": survey.requests,
        "occupancy_tokens": survey.occupancy_tokens,
        "threshold_bytes": plan.options.threshold_bytes,
        "keep_requests": plan.options.keep_requests,
        "disk_bytes_saved": plan.disk_bytes,
        "context_tokens_saved_estimated": plan.context_tokens,
        "strategies": {
            name: {
                "items": saving.items,
                "disk_bytes": saving.disk_bytes,
                "context_items": saving.context_items,
                "context_tokens_estimated": plan.tokens_of(name),
            }
            for name, saving in plan.savings.items()
        },
        "kept": {**plan.kept, "unparsed_lines": survey.unparsed_lines},
    }


def changes(plan: Plan) -> list[dict[str, Any]]:
    """Every result that goes, in the order of the session."""
    return [
        {
            "request": item.request,
            "strategy": strategy,
            "tool": item.call.name if item.call else None,
            "source": item.call.source if item.call else None,
            "bytes": item.size_bytes,
            "key": purging.key_of(item),
        }
        for edits in plan.changes.values()
        for item, strategy in edits
        if item.digest
    ]


def repair(report: Report, *, dry_run: bool) -> dict[str, Any]:
    """What a repair found and did."""
    return {
        "transcript": report.path,
        "dry_run": dry_run,
        "before": findings(report.before),
        "mended": [fault(one) for one in report.mended],
        "left_alone": [fault(one) for one in report.left_alone],
        "after": findings(report.after) if report.after else None,
        "changed": report.after is not None,
        "backup": report.backup,
        "is_still_written": not report.is_over,
    }
