"""How a plan looks to a person: exact patches, then the commands."""

from __future__ import annotations

import difflib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from brimline.install.pieces.piece import FileChange, Plan

_NO_NEWLINE = "\n\\ No newline at end of file\n"


def diff(changes: Iterable[FileChange]) -> str:
    """The changes as a patch, exact to the last newline."""
    return "".join(_patch(change) for change in changes)


def plans(found: list[Plan]) -> str:
    """Everything that would happen; empty where nothing would."""
    patch = diff(change for plan in found for change in plan.files)
    calls = [f"$ {line}" for plan in found for line in plan.call_lines]
    return "\n".join([*([patch.rstrip("\n")] if patch else []), *calls])


def remarks(found: Iterable[Plan]) -> list[str]:
    """What did not work, what is left alone, and what is left to the user."""
    told = list(found)
    lines = [f"Warning: {text}" for plan in told for text in plan.warnings]
    lines += [f"Note: {text}." for plan in told for text in plan.notes]
    to_do = [text for plan in told for text in plan.to_do]
    return [*lines, *(["Left for you to run:"] if to_do else []), *[f"  {text}" for text in to_do]]


def shown_path(path: str) -> str:
    """A path, and where it leads to if it is a link."""
    return path + (f" (a link to {os.path.realpath(path)})" if os.path.islink(path) else "")


def _patch(change: FileChange) -> str:
    before = "/dev/null" if change.before is None else change.path
    after = "/dev/null" if change.after is None else change.path
    lines = difflib.unified_diff(_lines(change.before), _lines(change.after), before, after)
    return "".join(line if line.endswith("\n") else line + _NO_NEWLINE for line in lines)


def _lines(raw: bytes | None) -> list[str]:
    # Not splitlines: it breaks at characters that may stand inside a JSON string.
    pieces = (raw or b"").decode("utf-8", "replace").split("\n")
    return [piece + "\n" for piece in pieces[:-1]] + [piece for piece in pieces[-1:] if piece]
