"""Sessions long enough for brimline's mod, and the check that a history came through whole."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brimline.bulk import stub as stubs

from .stub_api import Turn, filled, text, tools

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .brimline_home import Installed
    from .harness import Client
    from .stub_api import Request, StubApi

# The client honours a window of this size; it then compacts at 67,000 tokens.
WINDOW = {"autoCompactWindow": 100_000}
# With both it compacts at 38,400 tokens, a little above an empty conversation.
BRIM = WINDOW | {"env": {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "48"}}
FULL = filled(72_000)
# As many as stay whole, and enough besides for a compaction to be worth its while.
FILES = 46
KEPT = 25
_CHARACTERS = 3_000
_CARD = re.compile(r"\[brimline card\].*?</system-reminder>", re.DOTALL)


def write_files(client: Client, count: int = FILES, first: int = 0) -> list[Path]:
    """Files that a session reads, each unlike the others."""
    made = []
    for number in range(first, first + count):
        path = client.project / f"part{number}.txt"
        line = f"value {number} of the table\n"
        path.write_text(line * (_CHARACTERS // len(line)), encoding="utf-8")
        made.append(path)
    return made


def read_all(files: Sequence[Path], usage: dict[str, Any] | None = None) -> Turn:
    """One reply that reads all of them, in parallel."""
    return tools(*(("Read", {"file_path": str(path)}) for path in files), usage=usage)


def calls_of(*turns: Turn) -> list[str]:
    """The ids of the calls in scripted replies, in order."""
    return [block["id"] for turn in turns for block in turn.blocks if block["type"] == "tool_use"]


def fill(client: Client, stub: StubApi, *before: Turn, after: Sequence[Turn] = ()) -> list[str]:
    """Script a session that reaches the brim in mid-turn; returns the ids of all its calls."""
    client.write_settings(WINDOW)
    turns = [*before, read_all(write_files(client), FULL), *after]
    stub.script(*turns, text("END"))
    return calls_of(*turns)


def check_history(request: Request, calls: Sequence[str], *texts: str) -> None:
    """Every call stands once with its result right behind it, and each text exactly once."""
    found = [block["id"] for block in request.blocks("tool_use")]
    assert found == list(calls)
    # Parallel calls are answered in the order in which they end.
    answered = [block["tool_use_id"] for block in request.blocks("tool_result")]
    assert sorted(answered) == sorted(calls)
    for at, message in enumerate(request.messages):
        asked = _ids(message, "tool_use", "id")
        if asked:
            behind = _ids(request.messages[at + 1], "tool_result", "tool_use_id")
            assert sorted(behind) == sorted(asked)
    assert "internal error" not in request.seen_text()
    # The card, which the hooks hand back, may quote the user.
    seen = re.sub(
        r"\[brimline card\].*?</system-reminder>", "", request.seen_text(), flags=re.DOTALL
    )
    for wanted in texts:
        assert seen.count(wanted) == 1, wanted


def lines_in(request: Request) -> list[str]:
    """What stands in for results that were moved out."""
    return [result for result in request.results() if result.startswith(stubs.LINE)]


def recalled(installed: Installed, line: str) -> str:
    """What the command gives back for the key in a line."""
    found = re.search(r"[0-9a-f]{12,64}", line)
    assert found, line
    done = installed.command("store", "get", found[0])
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def place_by_handle(client: Client) -> list[str]:
    """Make a mod that compacts by handle; returns what loads it."""
    manifest = {"name": "by-handle", "version": "1.0.0", "description": "keeps rows by handle"}
    folder = client.home.parent / "by-handle"
    for name, content in (
        (".claude-plugin/plugin.json", json.dumps(manifest)),
        ("hooks/hooks.json", json.dumps({"modules": ["./register.js"]})),
        ("hooks/register.js", (Path(__file__).parent / "by_handle.js").read_text("utf-8")),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    return ["--plugin-dir", str(folder)]


def module_of(installed: Installed) -> Path:
    """The module that the client loads."""
    return installed.data / "mod" / "brimline" / "hooks" / "register.js"


def answer_with(installed: Installed, *command: str) -> None:
    """Have the mod ask another program than Python."""
    path = installed.data / "mod" / "brimline" / "brimline.json"
    document = json.loads(path.read_bytes()) | {"command": list(command)}
    path.write_text(json.dumps(document), encoding="utf-8")


def _ids(message: dict[str, Any], kind: str, name: str) -> list[str]:
    content = message["content"]
    return [b[name] for b in content if isinstance(b, dict) and b["type"] == kind]
