"""The text that stands in for an output: what it was, its preview, how to get the rest. Pure."""

from __future__ import annotations

from brimline.store import stub as stubs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from brimline.offload.preview import Preview

_SOURCE_CHARACTERS = 60
# Kinds whose preview is a description, not numbered lines.
_DESCRIBED = frozenset({"json", "paths", "binary"})


def reference(
    meta: Mapping[str, Any], preview: Preview, *, note: str = "", program: str = "brimline"
) -> str:
    """What the model gets instead of the output.

    Args:
        meta: what the store's sidecar says: `key`, `bytes`, and where known `lines`, `exit`, `tool`
            and `source` (the command that ran, the file that was read).
        preview: what is shown of the output.
        note: what has to be known beside it.
        program: how the model starts our command.
    """
    parts = [_first_line(meta), note, preview.text, _last_line(meta, preview, program)]
    text = "\n".join(part for part in parts if part)
    return text.encode("utf-8", "replace").decode()  # half of a surrogate pair cannot be sent


def _first_line(meta: Mapping[str, Any]) -> str:
    source = " ".join(str(meta.get("source") or "").split())
    if len(source) > _SOURCE_CHARACTERS:
        # A path tells most at its end, a command at its beginning.
        room = _SOURCE_CHARACTERS - 1
        source = "…" + source[-room:] if meta.get("tool") == "Read" else source[:room] + "…"
    stub = stubs.of_meta({**meta, "source": source or None})
    return f"{stubs.build(stub)} Preview, not the whole:"


def _last_line(meta: Mapping[str, Any], preview: Preview, program: str) -> str:
    more = _way_back(meta, program)
    if preview.kind in _DESCRIBED or not preview.omitted:
        return more
    return f'("A-B: x … y": line A, then names in the lines left out up to B.) {more}'


def _way_back(meta: Mapping[str, Any], program: str) -> str:
    again = ", or Read it again" if meta.get("tool") == "Read" else ""
    return stubs.way_back(meta["key"], program, again)
