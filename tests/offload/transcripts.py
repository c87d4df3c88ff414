"""Sessions with stubs in them, as hooks and the client leave them behind."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from brimline.offload import preview, reference

if TYPE_CHECKING:
    from brimline.testing import SessionBuilder

LINE = "line of the build that says nothing new\n"


def bulk(size: int) -> str:
    """A text of exactly so many characters."""
    return (LINE * (size // len(LINE) + 1))[:size]


def stub(text: str, tool: str = "Bash", source: str = "make all", *, ccm: bool = False) -> str:
    """What stands in for a text."""
    meta = {
        "key": "sha256:" + hashlib.sha256(text.encode()).hexdigest(),
        "bytes": len(text.encode()),
        "lines": text.count("\n") + (not text.endswith("\n")),
        "exit": 0 if tool == "Bash" else None,
        "tool": tool,
        "source": source,
    }
    if ccm:
        fields = {"key": meta["key"], "tool": tool, "source": source, "bytes": meta["bytes"]}
        block = "".join(f"{name}: {value}\n" for name, value in fields.items())
        return (
            f"Cached ({meta['lines']} lines, {meta['bytes']} bytes).\nFile: {meta['key']}\n"
            f"Original: {source}\n\nOptions: Task agent (summarize or full content), or paginate "
            f"with offset/limit.\n[CCM_CACHED]\n{block}[/CCM_CACHED]"
        )
    return reference.reference(meta, preview.make_preview(text, tool, source))


def numbered(text: str, *, old: bool = False) -> str:
    """A file as Read shows it, in the form of this client or of older ones."""
    width, mark = (6, "→") if old else (0, "\t")
    lines = text.split("\n")
    return "\n".join(f"{number:{width}}{mark}{line}" for number, line in enumerate(lines, 1))


def call(
    session: SessionBuilder, answer: str, tool: str = "Bash", tokens: int = 50_000, **asked: Any
) -> str:
    """One call with its answer; returns its id."""
    call_id = session.tool_call(tokens, tool, **asked)
    session.tool_result(call_id, answer)
    return call_id


def offloaded(session: SessionBuilder, size: int = 20_000, tokens: int = 50_000) -> str:
    """A command whose output was replaced; returns the text that stands in for it."""
    shown = stub(bulk(size))
    call(session, shown, tokens=tokens, command="make all")
    return shown
