"""The document behind `store list`, and its text: what is stored, and how much it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from brimline import output
from brimline.bulk import contents, layout, pins, removal
from brimline.fast import clock
from brimline.transcript import find

if TYPE_CHECKING:
    from brimline.bulk.contents import Blob

_TOOL_CHARACTERS = 12
_DESCRIPTION = ("lines", "tool", "source", "exit", "session", "cwd", "created")


def document(
    home_dir: str, limit: int, session_id: str | None = None, *, pinned: bool = False
) -> dict[str, Any]:
    """Return what is stored, last used first, under the keys that other programs rely on.

    Args:
        home_dir: the data folder.
        limit: how many outputs to list; 0 lists all.
        session_id: list those of one session, by its id or how that begins; `last` is the newest.
        pinned: list only what is pinned.

    Raises:
        SessionError: there is no such session.
        StoreError: the store is of a version that this one cannot read.
    """
    layout.refuse_newer_format(home_dir)
    blobs = sorted(contents.list_blobs(home_dir), key=lambda blob: blob.used_ns, reverse=True)
    held = pins.all_pins(home_dir)
    with_pin = [blob for blob in blobs if blob.digest in held]
    levels = [held[blob.digest].level for blob in with_pin]
    chosen = with_pin if pinned else blobs
    if session_id is not None:
        session = find.wanted_session_id(session_id, removal.sessions_in_store(home_dir))
        stored = removal.own_and_shared_keys(home_dir, session)
        chosen = [blob for blob in chosen if blob.key in {*stored.keys, *stored.shared}]
    return {
        "folder": layout.store_folder(home_dir),
        "blobs": len(blobs),
        "disk_bytes": sum(blob.disk_bytes for blob in blobs),
        "pins": {level: levels.count(level) for level in (pins.SOFT, pins.HARD)},
        "outputs": [_output_document(home_dir, blob, held) for blob in chosen[: limit or None]],
    }


def _output_document(home_dir: str, blob: Blob, held: dict[str, pins.Pin]) -> dict[str, Any]:
    """A stored output with its description; unknown is null."""
    described = contents.read_sidecar(home_dir, blob.key)
    pin = held.get(blob.digest, pins.Pin(pins.NONE))
    return {
        "key": blob.key,
        "bytes": contents.length_of_content(home_dir, blob.digest),
        **{name: described.get(name) for name in _DESCRIPTION},
        "disk_bytes": blob.disk_bytes,
        "used": clock.format_utc(blob.used_ns / 1e9),
        "pin": pin.level,
        "reason": pin.reason,
    }


def text(document: dict[str, Any], limit: int = 0, *, reasons: bool = False) -> str:
    """The list for a person; with the reasons of pins in place of the sources."""
    if not document["blobs"]:
        return "Nothing is stored."
    rows = [_cells_of_output(row, reasons=reasons) for row in document["outputs"]]
    head = ["key", "size", "lines", "last used", "pin", *(["why"] if reasons else ["tool", "what"])]
    lines = [output.table_text(head, rows, right={1, 2})] if rows else []
    blobs, disk = (
        output.count_text(document["blobs"], "output"),
        output.size_text(document["disk_bytes"]),
    )
    held = ", ".join(f"{number} {level}" for level, number in document["pins"].items())
    lines.append(f"{len(rows)} of {blobs}, {disk} on disk; pinned: {held}")
    if len(rows) == limit < document["blobs"]:
        lines.append("--limit 0 lists all.")
    if "…" in lines[0]:
        lines.append("--json has every name whole.")
    return "\n".join(lines)


def _cells_of_output(row: dict[str, Any], *, reasons: bool) -> list[str]:
    cells = [
        short_digits_of_key(row["key"]),
        "?" if row["bytes"] is None else output.size_text(row["bytes"]),
        f"{row['lines']:,}" if isinstance(row["lines"], int) else "?",
        output.utc_minute_text(row["used"]),
        row["pin"].removeprefix(pins.NONE),
    ]
    if reasons:
        return [*cells, row["reason"] or ""]
    tool = output.one_line(row["tool"] or "", _TOOL_CHARACTERS)
    return [*cells, tool, output.subject_as_path_or_text(row["tool"], row["source"])]


def short_digits_of_key(key: str) -> str:
    """As much of a key as a person types."""
    return layout.shorten_key(key).removeprefix(layout.PREFIX)
