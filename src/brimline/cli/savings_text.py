"""What offloading saved, for a person, from its JSON document. Pure."""

from __future__ import annotations

from typing import Any

from brimline.cli import store_text as text

NOTHING = "Nothing was offloaded"
_SHORT_ID = 8
_PROJECT_CHARACTERS = 30


def render(document: dict[str, Any], session: str | None) -> str:
    """The document for a person."""
    lines = [f"note: {note}" for note in document["notes"]]
    if session is not None and len(document["sessions"]) == 1:
        one = document["sessions"][0]
        title = f"Session {one['session_id']}"
        return "\n".join([*lines, *_sums(title, one), *_fullest(one)])
    if not document["sessions_with_offload"]:
        looked = text.count(document["session_count"], "session")
        lines.append(f"{NOTHING}: none of {looked} on disk holds a stub.")
    if document["sessions"]:
        lines += [_table(document), ""]
    if document["sessions_with_offload"]:
        lines += _sums("Total", document["total"])
    return "\n".join(lines).rstrip()


def _table(document: dict[str, Any]) -> str:
    rows = []
    for one in document["sessions"]:
        main = one["main"]
        rows.append(
            [
                text.minute(one["last_at"]) if one["last_at"] else "unknown",
                text.shown(one["session_id"])[:_SHORT_ID],
                text.shown(
                    (one["project"] or "unknown").rstrip("/").rpartition("/")[2],
                    _PROJECT_CHARACTERS,
                ),
                f"{main['stubs']:,}",
                text.size(main["would_have_shown_bytes"]),
                text.size(main["stub_bytes"]),
                f"{main['recalls']:,}",
                text.size(main["recalled_bytes"]),
                _bytes(main["kept_out_bytes"]),
                f"~{main['estimated_tokens']['kept_out']:,}",
            ]
        )
    head = ["last active", "session", "project", "stubs", "would have shown", "stubs took"]
    head += ["recalls", "brought back", "kept out", "tokens (estimated)"]
    shown, count = len(rows), document["sessions_with_offload"]
    title = f"Main threads, newest first ({shown} of {max(count, shown)} sessions)"
    return f"{title}\n{text.table(head, rows, set(range(3, len(head))))}"


def _sums(title: str, found: dict[str, Any]) -> list[str]:
    if not any(
        found[name][kind] for name in ("main", "subagents") for kind in ("stubs", "recalls")
    ):
        return [title, f"  {NOTHING}, and nothing was fetched back."]
    lines = [title, *_balance(found["main"])]
    if found["requests_after_a_stub"]:
        lines.append(
            f"  over time         ~{found['estimated_token_requests']:,} token-requests: what "
            f"{text.count(found['requests_after_a_stub'], 'request')} did not carry, added up"
        )
    measured = found["measured_stubs"]
    if measured:
        lines.append(
            f"  measured          {text.count(measured['stubs'], 'stub')} took "
            f"{measured['tokens']:,} tokens, by the usage of the requests around them; "
            f"estimated ~{measured['estimated_tokens']:,}"
        )
    if found["subagents"]["stubs"] or found["subagents"]["recalls"]:
        lines += ["In windows of subagents", *_balance(found["subagents"])]
    return lines


def _balance(account: dict[str, Any]) -> list[str]:
    tokens = account["estimated_tokens"]
    rows = [
        ("would have shown", account["would_have_shown_bytes"], tokens["would_have_shown"]),
        ("stubs took", -account["stub_bytes"], -tokens["stubs"]),
        ("recalls took", -account["recalled_bytes"], -tokens["recalled"]),
        ("kept out", account["kept_out_bytes"], tokens["kept_out"]),
    ]
    outputs, recalls = (
        text.count(account["stubs"], "output"),
        text.count(account["recalls"], "recall"),
    )
    counted = f"  {outputs} of {text.size(account['stored_bytes'])} replaced, {recalls}"
    lines = [
        f"  {name:16}  {_bytes(size):>10}  {f'~{count:,}':>12} tokens" for name, size, count in rows
    ]
    if account["kept_out_bytes"] < 0:
        lines.append("  It cost more than it saved.")
    return [counted, *lines]


def _fullest(one: dict[str, Any]) -> list[str]:
    fullest = one["fullest_request"]
    if not fullest or not fullest["estimated_kept_out_tokens"]:
        return []
    more = f"~{fullest['estimated_kept_out_tokens']:,} more without offloading, estimated"
    return [f"  fullest request   {fullest['occupancy_tokens']:,} tokens, measured; {more}"]


def _bytes(number: int) -> str:
    return f"-{text.size(-number)}" if number < 0 else text.size(number)
