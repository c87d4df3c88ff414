"""What `brimline store` shows: documents under stable keys, and the same for a person."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from brimline.cli import store_text as text
from brimline.store import audit, blobfile, layout, read, scan
from brimline.store import pins as pinning

if TYPE_CHECKING:
    from collections.abc import Iterable

    from brimline.store.grep import Row

# Each blob has to be opened for these figures; beyond this many it is done on request only.
_MOST_HEADERS = 20_000
_WIDEST_LINE = 2_000
_BEFORE_MATCH = 500
_METHODS = (blobfile.NONE, blobfile.GZIP, blobfile.ZSTD)


def stats(home_dir: str, *, content: bool) -> dict[str, Any]:
    """How much is stored, under stable keys; what was not looked at is null."""
    scan.check_format(home_dir)
    blobs = scan.blobs(home_dir)
    present = {blob.digest for blob in blobs}
    held = [pin.level for digest, pin in scan.pinned(home_dir).items() if digest in present]
    opened = content or len(blobs) <= _MOST_HEADERS
    headers = [scan.header(home_dir, blob.digest) for blob in blobs] if opened else []
    methods = [found[0] for found in headers if found]
    used = [blob.used_ns for blob in blobs]
    return {
        "folder": layout.root(home_dir),
        "blobs": len(blobs),
        "disk_bytes": sum(blob.disk_bytes for blob in blobs),
        "content_bytes": sum(found[1] for found in headers if found) if opened else None,
        "methods": {name: methods.count(name) for name in _METHODS} if opened else None,
        "pins": {
            pinning.NONE: len(blobs) - len(held),
            pinning.SOFT: held.count(pinning.SOFT),
            pinning.HARD: held.count(pinning.HARD),
        },
        "used_first": text.moment(min(used)) if used else None,
        "used_last": text.moment(max(used)) if used else None,
    }


def render_stats(found: dict[str, Any]) -> str:
    """The statistics for a person."""
    if not found["blobs"]:
        return "Nothing is stored."
    content = found["content_bytes"]
    blobs, disk = text.count(found["blobs"], "blob"), text.size(found["disk_bytes"])
    whole = "" if content is None else f" for {text.size(content)} of content"
    held = found["pins"]
    lines = [
        f"stored  {blobs}, {disk} on disk{whole}",
        f"pinned  {held[pinning.SOFT]} soft, {held[pinning.HARD]} hard",
        f"used    {text.minute(found['used_first'])} to {text.minute(found['used_last'])}",
        f"folder  {found['folder']}",
    ]
    return "\n".join(lines)


def entries(
    home_dir: str,
    found: Iterable[scan.Blob],
    *,
    limit: int,
    session: str | None,
    tool: str | None,
) -> list[dict[str, Any]]:
    """Blobs with what is known about them, under stable keys; unknown is null."""
    trail = audit.sessions_of_keys(home_dir) if session is not None else {}
    documents: list[dict[str, Any]] = []
    for blob in found:
        if limit and len(documents) == limit:
            break
        described = read.meta(home_dir, blob.key)
        sessions = [*trail.get(blob.key, {}), described.get("session")]
        if session is not None and not any(str(one).startswith(session) for one in sessions if one):
            continue
        if tool is not None and described.get("tool") != tool:
            continue
        documents.append(_document(home_dir, blob, described))
    return documents


def render_entries(documents: list[dict[str, Any]], total: int) -> str:
    """The list for a person."""
    if not documents:
        return "Nothing is stored." if not total else "Nothing of that kind is stored."
    rows = [
        [
            text.short(row["key"]),
            "?" if row["bytes"] is None else text.size(row["bytes"]),
            "?" if row["lines"] is None else f"{row['lines']:,}",
            text.minute(row["used"]),
            "" if row["pin"] == pinning.NONE else row["pin"],
            text.shown(f"{row['tool'] or ''} {row['source'] or ''}"),
        ]
        for row in documents
    ]
    head = ["key", "size", "lines", "last used", "pin", "what"]
    told = text.table(head, rows, {1, 2})
    return told if len(documents) == total else f"{told}\n({len(documents)} of {total:,})"


def content(home_dir: str, key: str, part: bytes) -> dict[str, Any]:
    """Content, or a part of it: as text where it is UTF-8, otherwise in base 64."""
    document = {"key": key, "meta": read.meta(home_dir, key), "bytes": len(part)}
    try:
        return document | {"text": part.decode("utf-8"), "base64": None}
    except UnicodeDecodeError:
        return document | {"text": None, "base64": base64.b64encode(part).decode("ascii")}


def matches(key: str, pattern: str, groups: list[list[Row]]) -> dict[str, Any]:
    """Matching lines and those around them."""
    rows = [row for group in groups for row in group]
    return {
        "key": key,
        "pattern": pattern,
        "matches": sum(row.matches for row in rows),
        "lines": [
            {"line": row.number, "match": row.matches, "text": row.text.decode("utf-8", "replace")}
            for row in rows
        ],
    }


def render_matches(groups: list[list[Row]], *, whole: bool) -> bytes:
    """Matching lines as `12:text`, those around as `11-text`, as grep does."""
    blocks = [
        b"".join(
            b"%d%s%s\n" % (row.number, b":" if row.matches else b"-", _cut(row, whole=whole))
            for row in group
        )
        for group in groups
    ]
    return b"--\n".join(blocks)


def pins(found: dict[str, pinning.Pin]) -> list[dict[str, Any]]:
    """Pins under stable keys."""
    return [
        {"key": layout.PREFIX + digest, "level": pin.level, "reason": pin.reason, "at": pin.at}
        for digest, pin in sorted(found.items())
    ]


def render_pins(found: dict[str, pinning.Pin]) -> str:
    """The pins for a person."""
    lines = [
        f"{text.short(digest)}  {pin.level:4}  {text.shown(pin.reason)}".rstrip()
        for digest, pin in sorted(found.items())
    ]
    return "\n".join(lines) or "Nothing is pinned."


def _document(home_dir: str, blob: scan.Blob, described: dict[str, Any]) -> dict[str, Any]:
    held = pinning.read(home_dir, blob.digest)
    header = scan.header(home_dir, blob.digest)
    lines = described.get("lines")
    names = ("tool", "source", "exit", "session", "cwd", "created")
    return {
        "key": blob.key,
        "bytes": header[1] if header else None,
        "lines": lines if isinstance(lines, int) else None,
        **{name: described.get(name) for name in names},
        "disk_bytes": blob.disk_bytes,
        "used": text.moment(blob.used_ns),
        "pin": held.level if held else pinning.NONE,
        "reason": held.reason if held else None,
    }


def _cut(row: Row, *, whole: bool) -> bytes:
    """A line, or of a long one the part around its match."""
    line = row.text
    if whole or len(line) <= _WIDEST_LINE:
        return line
    start = row.place - _BEFORE_MATCH if row.place > _WIDEST_LINE - _BEFORE_MATCH else 0
    part = line[start : start + _WIDEST_LINE].decode("utf-8", "ignore").encode()
    before = f"[{start:,} bytes] … " if start else ""
    rest = len(line) - start - _WIDEST_LINE
    after = f" … [{max(0, rest):,} more bytes: --whole-lines]"
    return before.encode() + part + after.encode()
