"""What `brimline session` says for a person, from its documents."""

from __future__ import annotations

import shlex
from itertools import groupby
from typing import TYPE_CHECKING, Any

from brimline import output
from brimline.bulk import layout
from brimline.gauge import composition_text
from brimline.session.faults import UNDONE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from brimline.session.legacy import Restoration
    from brimline.session.restore import Undoing

_SHOWN_CHANGES = 20
_SHOWN_KINDS = 12
_SHOWN_LINES = 5
_KEPT = {
    "pinned": "pinned results",
    "preserved": "results that a compaction preserved",
    "unparsed_lines": "lines that are not JSON or too long",
}
_PATH_CHARACTERS = 300
_ROOM = 120


def inspection_text(document: dict[str, Any]) -> str:
    """One session in full."""
    lines = [f"Session {document['session_id']}", output.name_value_text(_overview_rows(document))]
    lines += [
        *_context_lines(document["context"]),
        *_largest_result_lines(document),
        "",
        *_soundness_lines(document),
    ]
    return "\n".join(lines)


def _overview_rows(document: dict[str, Any]) -> list[tuple[str, str]]:
    counted = [output.count_text(document[f"{noun}s"], noun) for noun in ("turn", "request")]
    counted.append(output.count_text(document["compactions"], "compaction"))
    size, lines = (
        output.size_text(document["size_bytes"]),
        output.count_text(document["lines"], "line"),
    )
    rows = [
        ("file", output.one_line(document["transcript"], _PATH_CHARACTERS)),
        ("size", f"{size}, {lines}"),
        ("active", output.utc_from_to_text(document["first_at"], document["last_at"])),
        ("went on for", ", ".join(counted)),
    ]
    for model, requests in document["models"].items():
        rows.append(
            ("model", f"{output.one_line(model)} ({output.count_text(requests, 'request')})")
        )
    if values := document["occupancy_tokens"]:
        rows.append(("occupancy", output.sparkline(values, None)))
        rows.append(("", f"at most {max(values):,}, last {values[-1]:,} tokens"))
    rows.append(("a resume", _resume_size_text(document)))
    for lost in document["lost_thinking"]:
        text = f"after request {lost['after_request']:,}: {output.one_line(lost['what'], _ROOM)}"
        rows.append(("thinking lost", text))
    for one in document["cleared"]:
        text = f"after request {one['after_request']:,}: {one['what']}; `recall` finds them"
        rows.append(("cleared", text))
    kinds = [f"{output.one_line(kind)} {count:,}" for kind, count in document["records"].items()]
    more = ["…"] if len(kinds) > _SHOWN_KINDS else []
    return [*rows, ("records", ", ".join([*kinds[:_SHOWN_KINDS], *more]))]


def _context_lines(context: dict[str, Any]) -> list[str]:
    measured, since = context["occupancy_tokens"], f"~{context['since_tokens_estimated']:,} since"
    if measured is None:
        told = (
            f"In the context: {since} the session began or compacted; no request has measured it "
            "yet, and the system prompt and the tools are not counted"
        )
        return ["", output.wrapped_text(told)]
    told = f"In the context: {measured:,} tokens at the last request, {since}"
    lines = ["", output.wrapped_text(told)]
    if purged := context["purged_since_tokens_estimated"]:
        next_one = context["next_request_tokens_estimated"]
        told = f"That was before a purge, which took out ~{purged:,}: the next one ~{next_one:,}"
        lines.append(output.wrapped_text(told))
    return [*lines, *composition_text.part_lines(context), *composition_text.reread_lines(context)]


def _resume_size_text(document: dict[str, Any]) -> str:
    """Return what resuming the session sends; where a repair changes that, what it sends then."""
    told = f"sends ~{document['resume_tokens_estimated']:,} tokens"
    if document["resume_undoes_a_compaction"]:
        told += ", undoing a mod's compaction"
    if any(fault["kind"] == UNDONE for fault in document["faults"]):
        after = document["context"]["next_request_tokens_estimated"]
        told += f"; after `brimline session repair` ~{after:,}"
    return told


def _largest_result_lines(document: dict[str, Any]) -> list[str]:
    results = [
        [
            output.size_text(result["bytes"]),
            f"request {result['request']:,}",
            _where_result_is_now(result),
            output.one_line(result["tool"] or "unknown", 24),
            output.subject_as_path_or_text(result["tool"], result["source"]),
        ]
        for result in document["largest_results"]
    ]
    return composition_text.titled_table("Largest results", results, 1)


def _where_result_is_now(result: dict[str, Any]) -> str:
    """Where a result is now: the client may have cut it, a compaction kept it, or a line of it."""
    if result["cut_by_client"]:
        return "cut"
    if result["in_context"]:
        return "in the context"
    return "moved out" if result["moved_out"] else "compacted"


def _soundness_lines(document: dict[str, Any]) -> list[str]:
    """Return what is wrong, kind by kind, and what is merely unusual."""
    faults = document["faults"]
    mendable = sum(fault["mend"] is not None for fault in faults)
    summary = f"Structure: {output.count_text(len(faults), 'fault') if faults else 'sound'}"
    lines = [f"{summary}; `brimline session repair` mends {mendable}" if mendable else summary]
    lines += _fault_lines(faults)
    for note in document["notes"]:
        text = f"harmless: {note['meaning']} ({note['count']:,})"
        lines.append(output.wrapped_text(text, "  ", "    "))
    return lines


def _fault_lines(faults: Sequence[dict[str, Any]]) -> list[str]:
    """Faults by kind: what they mean, and where they are."""
    lines = []
    ordered = sorted(faults, key=lambda fault: (fault["kind"], fault["line"]))
    for kind, group in groupby(ordered, key=lambda fault: fault["kind"]):
        members = list(group)
        text = f"{len(members):,} {kind}: {members[0]['meaning']}"
        lines.append(output.wrapped_text(text, "  ", "    "))
        for fault in members[:_SHOWN_LINES]:
            detail = f": {output.one_line(fault['detail'], 120)}" if fault["detail"] else ""
            past = "" if fault["in_context"] else " (before the last compaction: in no request)"
            text = f"line {fault['line']:,}{detail}{past}"
            lines.append(output.wrapped_text(text, "    ", "      "))
        if len(members) > _SHOWN_LINES:
            lines.append(f"    and {len(members) - _SHOWN_LINES:,} more")
    return lines


def purge_plan_text(document: dict[str, Any]) -> str:
    """Return what goes, and what that saves on the disk and in the context."""
    kept = [f"{_KEPT[why]} ({count:,})" for why, count in document["kept"].items() if count]
    size, lines = output.size_text(document["bytes"]), output.count_text(document["lines"], "line")
    requests = output.count_text(document["requests"], "request")
    fill = output.number_text(document["occupancy_tokens"])
    saved = f"~{document['context_tokens_saved_estimated']:,} tokens (estimated)"
    goes = output.count_text(document["results"], "result")
    told = [
        document["path"],
        f"{size} in {lines}, {requests}, the last one {fill} tokens",
        output.wrapped_text(f"Lines in the place of {goes}: the next request is {saved} smaller."),
    ]
    told += [output.wrapped_text(f"Left as they are: {', '.join(kept)}.")] if kept else []
    if lost := document["thoughts_lost"]:
        loss = (
            f"{lost:,} of {output.count_text(document['thoughts'], 'thought')} behind the first "
            "replaced result will not be sent again "
            f"(~{document['thoughts_tokens_estimated']:,} tokens of the context): the model takes "
            "its thinking back only if nothing before it changed."
        )
        told.append(output.wrapped_text(loss))
    return "\n".join(told)


def purge_dry_run_text(document: dict[str, Any], command: list[str]) -> str:
    """Return what a purge would do, and the command that does it."""
    plan, results = purge_plan_text(document), results_to_purge_text(document["changes"])
    how = "Nothing was changed. To do it, in a copy beside the session:"
    return "\n".join([plan, results, "", how, f"  {shlex.join(command)}"])


def results_to_purge_text(results: list[dict[str, Any]]) -> str:
    """The results that go, the first of them by name."""
    rows = [
        [
            f"request {result['request']:,}",
            output.size_text(result["bytes"]),
            layout.shorten_key(result["key"]).removeprefix(layout.PREFIX),
            output.one_line(result["tool"] or "a tool", 24),
            output.subject_as_path_or_text(result["tool"], result["source"]),
        ]
        for result in results[:_SHOWN_CHANGES]
    ]
    lines = composition_text.titled_table("Results that would go:", rows)
    if len(results) > _SHOWN_CHANGES:
        lines.append(f"  … and {len(results) - _SHOWN_CHANGES:,} more (--json lists all)")
    return "\n".join(lines)


def purge_done_text(document: dict[str, Any]) -> str:
    """Return what was done, and how to go on."""
    now, before = (output.size_text(document[name]) for name in ("bytes_after", "bytes"))
    saved = f"~{document['context_tokens_saved_estimated']:,} tokens smaller (estimated)"
    told = f"Purged: the copy is {now} ({before} before), its next request {saved}."
    return "\n".join([output.wrapped_text(told), *copy_lines(document)])


def copy_lines(document: dict[str, Any]) -> list[str]:
    """Say where a copy is, how to go on with it, and what becomes of the session."""
    lines = [f"Copy:   {document['copy']}", f"Go on:  claude --resume {document['copy_session']}"]
    if not document["copy_is_new"]:
        lines.insert(0, "It had been made before, and was left as it is.")
    if document["is_open"]:
        end = output.utc_minute_text(document["copy_ends_at"])
        told = f"The session is open: the copy ends at {end}, and what comes later is not in it."
        lines.append(output.wrapped_text(told))
    day = output.utc_minute_text(document["original_deleted_at"])[:10]
    told = (
        f"The session itself was not touched. Unless it is used, the client deletes it on {day};"
        " after that `brimline session restore` brings back what was replaced, from the store."
    )
    return [*lines, output.wrapped_text(told)]


def found_fault_lines(document: dict[str, Any]) -> list[str]:
    """Return what is wrong, what is to be done about it, and what is left alone."""
    mended, left = document["mended"], document["left_alone"]
    lines = [output.one_line(document["transcript"], _PATH_CHARACTERS)]
    if not mended and not left:
        return [*lines, "Sound: no faults."]
    if mended:
        lines += ["Faults that can be repaired:", *_fault_lines(mended)]
    if left:
        lines += ["Left alone, as no repair of them is certain:", *_fault_lines(left)]
    return lines


def repair_text(document: dict[str, Any]) -> str:
    """Return what a repair found and did."""
    lines = found_fault_lines(document)
    amount = output.count_text(len(document["mended"]), "fault")
    if document["after"] is not None:
        left = document["after"]["faults"]
        lines.append(f"Mended {amount}, in a copy.")
        lines.append(
            f"After: {output.count_text(len(left), 'fault')}" + ("" if left else ", sound")
        )
        lines += [*_fault_lines(left), *copy_lines(document)]
    elif document["mended"]:
        lines.append(f"Would mend {amount}; nothing was changed.")
    else:
        lines.append("Nothing to mend.")
    return "\n".join(lines)


def way_back_text(document: dict[str, Any]) -> str:
    """Say what to go on with instead of a copy."""
    told = f"{document['path']} is a copy ({document['kind']})"
    if document["original"] is None:
        return output.wrapped_text(
            f"{told} whose original was deleted: what was replaced in it comes back from the"
            " store, in another copy."
        )
    day = output.utc_minute_text(document["original_deleted_at"])[:10]
    told += f" of a session that is as it was: go on with that one. The client deletes it on {day}"
    resume = f"  claude --resume {document['original_session']}"
    return "\n".join([output.wrapped_text(f"{told}, unless it is used."), resume])


def restore_plan_sentence(found: Restoration) -> str:
    """Return what would come back, in a sentence."""
    if not found.undone:
        return output.wrapped_text(
            f"Nothing to restore: {found.path} is not a copy that brimline made, and no older one"
            " rewrote it with this data folder."
        )
    grown = sum(note.before.length - note.after.length for note in found.undone)
    back = f", {output.size_text(grown)} come back" if grown > 0 else ""
    is_bound = any(note.lost_thoughts for note in found.undone)
    loss = " Thinking of turns made since will not be sent again." if is_bound else ""
    return output.wrapped_text(
        f"{found.path}: {output.count_text(len(found.undone), 'rewrite')} to undo in a copy{back}, "
        f"byte for byte; what was appended since stays.{loss}"
    )


def undo_plan_sentence(found: Undoing) -> str:
    """Return what going back to before a compaction would do, in a sentence."""
    return output.wrapped_text(
        f"{found.path}: a copy that ends before the compaction without a model of"
        f" {output.utc_minute_text(found.at or None)}. What came after it stays in the session."
    )


def backup_list_text(document: dict[str, Any]) -> str:
    """All backups, a line each; their names are shown whole, to be copied."""
    if not document["backups"]:
        return "There are no backups: no session has a copy, and none was rewritten."
    lines = []
    for one in document["backups"]:
        made = output.utc_minute_text(one["made_at"])
        lines.append(f"{output.size_text(one['size_bytes']):>9}  {made}  {one['path']}")
        lines += [
            f"{'':11}{copy['kind']}: claude --resume {copy['session']}" for copy in one["copies"]
        ]
        if one["has_gone_on"]:
            lines.append(f"{'':11}went on since: it stays")
    total = (
        f"{output.count_text(document['count'], 'backup')},"
        f" {output.size_text(document['size_bytes'])}."
    )
    return "\n".join([*lines, total])
