"""The one list of hook events brimline answers. Installer, doctor and docs are made from it."""

from __future__ import annotations

from typing import NamedTuple


class HookSpec(NamedTuple):
    """One hook registration in the client's settings."""

    event: str
    matcher: str | None
    timeout_s: int
    purpose: str


HOOKS = (
    HookSpec("SessionStart", None, 10, "brings the compiled settings up to date"),
    HookSpec("UserPromptSubmit", None, 10, "measures; announces a tier that was entered"),
    HookSpec("PostToolUse", "*", 10, "measures; announces a tier that was entered"),
    HookSpec("PreCompact", None, 10, "records how full the window was, and who asked"),
)
