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
    match arguments:
        case ["mcp", "add", "-s", "user", name, *rest]:
            return _add_server(config / ".claude.json", name, rest)
        case ["mcp", "remove", "-s", "user", name]:
            return _drop(config / ".claude.json", "mcpServers", name)
        case ["plugin", "marketplace", "add", path]:
            source = {"source": {"source": "directory", "path": path}}
            _put(config / "plugins" / "known_marketplaces.json", None, "brimline", source)
            return _put(config / "settings.json", "extraKnownMarketplaces", "brimline", source)
        case ["plugin", "marketplace", "remove", name]:
            _drop(config / "plugins" / "known_marketplaces.json", None, name)
            return _drop(config / "settings.json", "extraKnownMarketplaces", name)
        case ["plugin", "install", name]:
            return _put(config / "settings.json", "enabledPlugins", name, True)
        case ["plugin", "uninstall", name]:
            return _drop(config / "settings.json", "enabledPlugins", name)
    sys.stderr.write(f"error: unknown command {arguments}\n")
    return 1


def _add_server(path: Path, name: str, rest: list[str]) -> int:
    if name in _read(path).get("mcpServers", {}):
        sys.stderr.write(f"MCP server {name} already exists in user config\n")
        return 1
    at = rest.index("--")
    env = dict(word.split("=", 1) for word in rest[:at] if word != "-e")
    command, *arguments = rest[at + 1 :]
    server = {"type": "stdio", "command": command, "args": arguments, "env": env}
    return _put(path, "mcpServers", name, server)


def _put(path: Path, member: str | None, name: str, value: Any) -> int:
    document = _read(path)
    (document.setdefault(member, {}) if member else document)[name] = value
    _write(path, document)
    return 0


def _drop(path: Path, member: str | None, name: str) -> int:
    document = _read(path)
    found = document.get(member, {}) if member else document
    if name not in found:
        sys.stderr.write(f"{name} not found\n")
        return 1
    del found[name]
    _write(path, document)
    return 0


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_bytes()) if path.exists() else {}
    return found


def _write(path: Path, document: dict[str, Any]) -> None:
    """Write the whole file anew, in the client's own manner."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
