"""A stand-in for the client's own command: it edits its files in the shapes that were observed."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

CALLS = "claude-calls.jsonl"
_SCRIPT = """#!{python}
import runpy, sys
sys.argv[0] = {file!r}
runpy.run_path({file!r}, run_name="__main__")
"""


def put_on_path(folder: Path) -> None:
    """Make `claude` in a folder that is on PATH start this file."""
    script(folder, _SCRIPT.format(python=sys.executable, file=__file__))


def script(folder: Path, text: str) -> None:
    """Make `claude` in a folder any program."""
    program = folder / "claude"
    program.write_text(text, encoding="utf-8")
    program.chmod(0o755)


def calls(config: Path) -> list[list[str]]:
    """The arguments of every call, oldest first."""
    path = config / CALLS
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def _main(arguments: list[str]) -> int:
    config = Path(os.environ["CLAUDE_CONFIG_DIR"])
    config.mkdir(parents=True, exist_ok=True)
    with (config / CALLS).open("a", encoding="utf-8") as log:
        log.write(json.dumps(arguments) + "\n")
    state = config / ".claude.json"
    known = config / "plugins" / "known_marketplaces.json"
    match arguments:
        case ["mcp", "add", "-s", "user", name, *rest]:
            at = rest.index("--")
            env = dict(word.split("=", 1) for word in rest[:at] if word != "-e")
            command, *words = rest[at + 1 :]
            server = {"type": "stdio", "command": command, "args": words, "env": env}
            return _edit(state, "mcpServers", name, server, new=True)
        case ["mcp", "remove", "-s", "user", name]:
            return _edit(state, "mcpServers", name)
        case ["plugin", "marketplace", "remove", name]:
            return _edit(known, None, name)
    sys.stderr.write(f"error: unknown command {arguments}\n")
    return 1


def _edit(
    path: Path, member: str | None, name: str, value: Any = None, *, new: bool = False
) -> int:
    """Set or drop one entry; the whole file is written anew, in the client's own manner."""
    document: dict[str, Any] = json.loads(path.read_bytes()) if path.exists() else {}
    holder = document.setdefault(member, {}) if member else document
    if (new and name in holder) or (value is None and name not in holder):
        sys.stderr.write(f"{name} {'already exists' if new else 'not found'}\n")
        return 1
    holder[name] = value
    if value is None:
        del holder[name]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
