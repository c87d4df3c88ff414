"""One tool call as a hook saw it.

Fast path: imports nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Call:
    """Which tool, with what, in which place, and what it answered."""

    __slots__ = ("cwd", "project_dir", "response", "tool", "tool_input")

    def __init__(
        self, tool: str, tool_input: Any, response: Any, *, cwd: str, project_dir: str
    ) -> None:
        self.tool = tool
        self.tool_input: dict[str, Any] = tool_input if isinstance(tool_input, dict) else {}
        self.response = response
        self.cwd = cwd
        self.project_dir = project_dir
