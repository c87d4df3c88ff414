"""What offloading leaves: marks in a session's folder, and what was learned of commands."""

from __future__ import annotations

# Nothing in it names a session, a project, a command or a file.
FILES = {"": r"offload-learned\.jsonl(\.old)?"}
PASSING = ("offload",)
