"""A purged session in the real client: it resumes, and the model sees references and the rest."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from brimline.session import in_use
from brimline.store.stub import parse

from .harness import read_rows
from .stub_api import bash, filled, text, too_long, tool

if TYPE_CHECKING:
    from pathlib import Path

    from .brimline_home import Installed
    from .harness import Client
    from .stub_api import Request, StubApi

_NOT_IN_USE_S = 60
_MEASURED_TOKENS = 60_000


@pytest.fixture
def recorded(client: Client, stub: StubApi, installed: Installed) -> Path:
    """A session of two turns: large outputs, a file read twice, an edit, and a small last call."""
    # What is kept out from the beginning need not be purged.
    done = installed.command("config", "set", "offload.preset", "off")
    assert done.returncode == 0, done.stderr
    big = client.project / "big.py"
    big.write_text("".join(f"value_{n} = {n}\n" for n in range(1_500)), encoding="utf-8")
    small = client.project / "small.py"
    small.write_text("x = 1\n", encoding="utf-8")
    stub.script(
        bash("seq 1 3000"),
        tool("Read", {"file_path": str(big)}),
        tool("Read", {"file_path": str(small)}),
        tool("Edit", {"file_path": str(small), "old_string": "x = 1", "new_string": "x = 2"}),
        tool("Write", {"file_path": str(client.project / "new.py"), "content": "y = 1\n" * 400}),
        tool("Read", {"file_path": str(big)}),
        text("first done"),
    )
    first = client.run_print("go")
    assert first.transcript
    stub.script(bash("seq 5000 7000"), text("second done", filled(_MEASURED_TOKENS)))
    client.run_print("more", args=["--resume", first.transcript.stem])
    rest(first.transcript)
    return first.transcript


def rest(transcript: Path) -> None:
    """Make a session look as if nobody had written to it for a while."""
    moment = time.time() - _NOT_IN_USE_S
    os.utime(transcript, (moment, moment))


def results_in(request: Request) -> list[str]:
    """The text of every tool result in a request."""
    found = []
    for block in request.blocks("tool_result"):
        content = block["content"]
        parts = content if isinstance(content, list) else [{"text": content}]
        found.append("\n".join(part.get("text", "") for part in parts))
    return found


def resumed(client: Client, stub: StubApi, transcript: Path) -> Request:
    """What the client sends when the session goes on."""
    stub.script(text("gone on", filled(_MEASURED_TOKENS)))
    run = client.run_print("go on", args=["--resume", transcript.stem])
    assert run.rc == 0, run.stderr
    return next(request for request in reversed(run.requests) if request.kind == "main")


def run_json(installed: Installed, *arguments: str) -> dict[str, Any]:
    """A command's JSON."""
    done = installed.command(*arguments, "--json")
    assert done.returncode == 0, done.stderr.decode()
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.row("S2-29", "S3-41", "S3-55")
def test_a_purged_session_resumes_with_references_and_a_restored_one_without(
    client: Client, stub: StubApi, installed: Installed, recorded: Path
) -> None:
    """Old results are references, recent and small ones whole, pairs kept; then all as it was."""
    before = results_in(resumed(client, stub, recorded))
    rest(recorded)
    original = recorded.read_bytes()

    told = run_json(installed, "session", "purge", str(recorded), "--keep-recent", "3", "--yes")
    purged = recorded.read_bytes()
    request = resumed(client, stub, recorded)

    after = results_in(request)
    assert told["applied"] is True
    assert len(after) == len(before) == 7
    assert after[0].startswith('[brimline stored 13892 bytes, 3000 lines, tool "Bash"')
    assert "The file was read or changed again later." in after[1]
    assert after[-1] == before[-1]
    assert after[-1].startswith("5000\n5001")
    calls = [block["id"] for block in request.blocks("tool_use")]
    assert calls == [block["tool_use_id"] for block in request.blocks("tool_result")]
    said = sum(len(text) for text in before) - sum(len(text) for text in after)
    # Estimated, and on the scale of what the client measured.
    assert said / 2.85 / 2 < told["context_tokens_saved_estimated"] < _MEASURED_TOKENS
    # The command that the reference names prints what the tool had printed, byte for byte.
    got = installed.command("store", "get", after[0].partition("brimline store get ")[2].split()[0])
    assert got.stdout == "\n".join(str(n) for n in range(1, 3001)).encode()

    appended = recorded.read_bytes().removeprefix(purged)
    rest(recorded)
    run_json(installed, "session", "restore", str(recorded), "--yes")
    assert recorded.read_bytes() == original + appended
    assert results_in(resumed(client, stub, recorded)) == before


def test_the_recall_tool_brings_a_purged_result_back(
    client: Client, stub: StubApi, installed: Installed, recorded: Path
) -> None:
    """The model asks for the key in the reference and gets what the purge took out."""
    run_json(installed, "session", "purge", str(recorded), "--keep-recent", "1", "--yes")
    found = next(s for text in results_in(resumed(client, stub, recorded)) if (s := parse(text)))
    code = f"import sys; sys.path.insert(0, {str(installed.root)!r}); "
    code += "from brimline.mcp.server import mcp; mcp()"
    server = {"type": "stdio", "command": sys.executable, "args": ["-c", code]}
    config = json.dumps({"mcpServers": {"brimline": server}})
    stub.script(tool("mcp__brimline__recall", {"key": found.key, "lines": "1:40"}), text("end"))

    run = client.run_print("go on", args=["--resume", recorded.stem, "--mcp-config", config])

    answer = results_in(run.requests[-1])[-1]
    stored = installed.command("store", "get", found.key, "--lines", "1:40").stdout.decode()
    assert stored.rstrip("\n") in answer


def test_a_purged_session_is_shown_and_goes_on_in_the_terminal(
    client: Client, stub: StubApi, installed: Installed, recorded: Path
) -> None:
    """Without the client's own copies there is less to see, but nothing breaks."""
    run_json(installed, "session", "purge", str(recorded), "--keep-recent", "0", "--yes")
    copies = [row["toolUseResult"] for row in read_rows(recorded) if "toolUseResult" in row]
    assert all(len(json.dumps(copy)) < 300 for copy in copies)
    stub.script(text("third done"))

    with client.interactive(args=["--resume", recorded.stem]) as session:
        session.ready()
        screen = session.wait_for("second done")
        assert "Update(small.py)" in screen
        session.send_line("once more")
        session.wait_for("third done")


@pytest.mark.row("S2-18")
def test_what_a_compaction_preserved_and_said_is_left_alone(
    client: Client, stub: StubApi, installed: Installed, recorded: Path
) -> None:
    """Results before the boundary go from the disk only; the preserved one stays in the request."""
    stub.script(bash("seq 1 2500"), too_long(210_000, 200_000), text("compacted"))
    client.run_print("fill it", args=["--resume", recorded.stem])
    rest(recorded)
    before = resumed(client, stub, recorded)
    rest(recorded)

    told = run_json(installed, "session", "purge", str(recorded), "--keep-recent", "0", "--yes")
    after = resumed(client, stub, recorded)

    assert told["kept"]["preserved"] >= 1
    assert told["context_tokens_saved_estimated"] == 0
    assert told["strategies"]["old"]["items"] > 0
    assert results_in(after) == results_in(before)
    assert "STUB-SUMMARY" in after.seen_text()


@pytest.mark.row("S3-41")
def test_inside_the_client_a_purge_is_only_previewed(
    client: Client, stub: StubApi, installed: Installed, recorded: Path
) -> None:
    """What `/brim:purge` runs shows the figures and the command for after the session."""
    original = recorded.read_bytes()
    os.utime(recorded)
    # The client that wrote it is gone; this process stands in for one that runs.
    in_use.note_client(str(installed.data), recorded.stem, os.getpid())

    shown = installed.command(
        "session", "purge", "--dry-run", "--keep-recent", "3",
        env={"CLAUDE_CODE_SESSION_ID": recorded.stem},
    )  # fmt: skip
    refused = installed.command("session", "purge", str(recorded), "--keep-recent", "3", "--yes")

    assert shown.returncode == 0, shown.stderr
    assert f"brimline session purge {recorded} --keep-recent 3" in shown.stdout.decode()
    assert refused.returncode == 3
    assert recorded.read_bytes() == original
    assert not (installed.data / "store").exists()
