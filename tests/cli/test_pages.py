"""Every page that a person reads: as it was, within 80 columns, and obeyed by no terminal."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from rich.cells import cell_len

from brimline.bulk import pins, put
from brimline.fast import paths
from brimline.fast.io import append_line
from brimline.state.session import SessionState
from brimline.testing import SessionBuilder, text_block

if TYPE_CHECKING:
    from .conftest import Golden, Run

NAME = "1f0c2d3e-aaaa-4bbb-8ccc-000000000001"
EVIL = "\x1b]0;owned\x07\x1b[2J\u202e\x9b31m"
START = 1_700_000_000
# In the order of the golden file; each as a person types it.
PAGES = (
    "status",
    "status --composition",
    "history",
    f"history --session {NAME}",
    "history --compactions",
    "session inspect",
    "session purge --dry-run",
    "session repair --dry-run",
    "session restore --dry-run",
    "session backups",
    "store list",
    "store list --pinned",
    "store search needle --everywhere",
    "store prune --dry-run --max-size-mb 0",
    "carry show",
    "carry card",
    "rules show",
    "rules explain src/main.py",
    "rules lint",
    "config list",
    "config explain",
    "config presets",
)


@pytest.fixture
def hostile(world: Path, home_dir: str, project_dir: str) -> SessionBuilder:
    """A session, a store and a repository whose every text tries to drive the terminal."""
    path = f"{paths.project_transcripts_dir(project_dir)}/{NAME}.jsonl"
    session = SessionBuilder(path, session_id=NAME, cwd="/home/dev/project", now=START)
    session.model = f"claude-sonnet-4-5{EVIL}"
    session.prompt(f"Never deploy on Fridays. {EVIL} " + "and so on " * 30)
    for number, tokens in enumerate((30_000, 34_000, 38_000)):
        call = session.tool_call(tokens, "Read", file_path=f"/home/dev/{EVIL}/big.py")
        session.tool_result(call, f"{number}{EVIL} line\n" * 2_000)
    call = session.tool_call(40_000, f"Ba{EVIL}sh", command=f"echo {EVIL}" + "x" * 200)
    session.tool_result(call, "x")
    session.row(f"we{EVIL}ird", gitBranch=f"b{EVIL}")
    attachment = {"type": "hook_additional_context", "hookName": f"Post{EVIL}", "content": ["n"]}
    session.row("attachment", attachment=attachment, rendered=["n" * 900])
    session.reply(52_000, text_block("Done."))
    session.compact(155_301, f"au{EVIL}to", f"summary {EVIL}" * 50)
    session.parent = "gone"
    session.prompt("go on")
    for tokens in range(20_000, 34_000, 1_000):
        call = session.tool_call(tokens, command=f"make part{tokens}")
        session.tool_result(call, f"{tokens} {EVIL} output\n" * 500)
    session.reply(60_000)
    os.utime(path, (START, START))
    _recorded(home_dir)
    meta = {"tool": f"B{EVIL}", "source": f"make {EVIL}" + "y" * 90, "cwd": project_dir}
    key = put.put(home_dir, f"first\nthe {EVIL} needle\n".encode(), meta | {"session": NAME})
    pins.pin(home_dir, key, "hard", f"why {EVIL}")
    rules = Path(project_dir, "CLAUDE.md")
    rules.write_text(f"# R\n\n- Use {EVIL} tabs (CRITICAL)\n- See @{EVIL}.md\n", encoding="utf-8")
    folder = Path(project_dir, f"src{EVIL}")
    folder.mkdir()
    (folder / "CLAUDE.md").write_text(f"- {EVIL} below\n", encoding="utf-8")
    return session


def _recorded(home_dir: str) -> None:
    lines: list[dict[str, Any]] = [
        {"event": "SessionStart", "cwd": f"/home/dev/{EVIL}", "model": f"m{EVIL}"},
        {"event": "UserPromptSubmit", "occupancy": 40_000, "offset": 10},
        {"event": "PostToolUse", "occupancy": 120_000, "offset": 20, "tier": 1, "spoke": 1},
        {"event": "PreToolUse", "occupancy": 120_000, "blocked": True, "tool": f"Sk{EVIL}"},
        {"event": "Offloaded", "tool": "Bash", "shown": 2_000, "bytes": 100_000, "would": 42_000},
        {"event": "Recalled", "tool": "Bash", "shown": 1_000},
    ]
    folder = SessionState(home_dir, NAME).folder
    for number, line in enumerate(lines):
        text = json.dumps({"v": 1, "at": START + number, "window": 200_000} | line)
        append_line(f"{folder}/spool.jsonl", text)


def test_every_page_is_as_it_was_and_obeyed_by_no_terminal(
    hostile: SessionBuilder, brimline: Run, golden: Golden, world: Path
) -> None:
    """Within 80 columns, but for whole paths, which are to be copied, and texts for the model."""
    told = ""
    for words in PAGES:
        done = brimline(*words.split())
        assert done.code == 0 or words == "rules lint", done.err
        for line in (done.out + done.err).splitlines():
            is_whole = str(world) in line or words == "carry card"
            assert line.isprintable(), words
            assert cell_len(line) <= 80 or is_whole, f"{words}: {line}"
        told += f"{chr(10) if told else ''}$ brimline {words}\n{done.out}{done.err}"
    told = re.sub(r"/projects/-[^/, ]*", "/projects/PROJECT", told)
    told = re.sub(r"last used +pin", "last used  pin", told)
    told = re.sub(r"20(2[4-9]|[3-9]\d)-\d\d-\d\d \d\d:\d\dZ", "NOW", told)
    told = re.sub(r"\d+ B (on disk|freed|left)", r"N B \1", told)

    golden("pages.txt", told)


@pytest.mark.parametrize("words", [*PAGES, "carry checkpoint"])
def test_every_page_is_a_document_too(words: str, hostile: SessionBuilder, brimline: Run) -> None:
    """JSON on standard output, and nothing raw in it."""
    done = brimline(*words.split(), "--json")

    assert json.loads(done.out) is not None
    assert done.out.replace("\n", "").isprintable()
    assert done.out.isascii()
