"""A session that another mod compacted by handle, in the real client: told, mended, undone."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .modded import BRIM, FILES, KEPT, lines_in, place_by_handle, read_all, recalled, write_files
from .stub_api import bash, measured, text

if TYPE_CHECKING:
    from .brimline_home import Installed
    from .harness import Client
    from .stub_api import Request, StubApi

_LONG_AGO = 1_700_000_000
PROMPT, LATER = "Count the values of every part.", "And then?"


@pytest.fixture
def compacted(client: Client, stub: StubApi, installed: Installed) -> Path:
    """A session of many reads that a mod compacted by handle, with a reply behind that."""
    installed.install("--no-mod")
    before = client.settings_path().read_bytes()
    client.write_settings(BRIM)
    turns = (read_all(write_files(client)), bash("echo read"), text("END"))
    stub.script(*[replace(turn, usage={}) for turn in turns])
    run = client.run_print(PROMPT, args=place_by_handle(client))
    assert run.kinds == ["main"] * 3
    assert run.transcript
    _let_rest(run.transcript)
    client.settings_path().write_bytes(before)
    return run.transcript


def test_a_resume_sends_what_inspect_says_and_a_repair_keeps_it_compacted(
    client: Client, stub: StubApi, installed: Installed, compacted: Path
) -> None:
    """As written everything comes back; in the mended copy, the compacted form is sent.

    Both within two in a hundred of what was said; the session is the same to a byte.
    """
    written = compacted.read_bytes()
    before = _run(installed, "inspect", compacted)
    whole = _resumed(client, stub, compacted)
    compacted.write_bytes(written)
    _let_rest(compacted)
    repaired = _run(installed, "repair", compacted, "--yes")
    copy = Path(repaired["copy"])
    after = _run(installed, "inspect", copy)
    short = _resumed(client, stub, copy)

    assert before["resume_undoes_a_compaction"]
    assert [fault["kind"] for fault in repaired["mended"]] == ["undone_compaction"]
    assert not after["resume_undoes_a_compaction"]
    assert "[gone:" not in whole.seen_text()
    assert short.seen_text().count("[gone:") > 15
    for document, request in ((before, whole), (after, short)):
        sent = measured(request.body)
        assert document["resume_tokens_estimated"] == pytest.approx(sent, rel=0.02)
    assert compacted.read_bytes() == written
    assert installed.errors() == ""


def test_purge_shortens_what_a_resume_would_send(
    client: Client, stub: StubApi, installed: Installed, compacted: Path
) -> None:
    """Unrepaired: old results go from the rows that come back, and each line gives its own back."""
    written = compacted.read_bytes()
    whole = _resumed(client, stub, compacted)
    compacted.write_bytes(written)
    _let_rest(compacted)

    purged = _run(installed, "purge", compacted, "--yes")
    inspected = _run(installed, "inspect", Path(purged["copy"]))
    short = _resumed(client, stub, Path(purged["copy"]))

    lines = lines_in(short)
    assert len(lines) == purged["results"] == FILES + 1 - KEPT
    estimated = inspected["resume_tokens_estimated"]
    assert estimated == pytest.approx(measured(short.body), rel=0.05)
    saved = measured(whole.body) - measured(short.body)
    assert purged["context_tokens_saved_estimated"] == pytest.approx(saved, rel=0.4)
    # What the client attaches stands behind any of them.
    originals = {result[:4_000] for result in whole.results()}
    assert recalled(installed, lines[0])[:4_000] in originals
    assert installed.errors() == ""


def test_it_is_undone_in_a_copy(
    client: Client, stub: StubApi, installed: Installed, compacted: Path
) -> None:
    """The copy ends before the compaction: whole results are sent."""
    written = compacted.read_bytes()
    undo = _run(installed, "restore", compacted, "--before-compaction", "--yes")
    assert compacted.read_bytes() == written
    whole = _resumed(client, stub, Path(undo["copy"]))

    assert "[gone:" not in whole.seen_text()
    assert len(whole.blocks("tool_result")) == FILES + 1
    assert installed.errors() == ""


def _run(installed: Installed, name: str, session: Path, *options: str) -> dict[str, Any]:
    done = installed.command("session", name, str(session), *options, "--json")
    assert done.returncode == 0, done.stderr.decode()
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _resumed(client: Client, stub: StubApi, session: Path) -> Request:
    """What the client sends, without the mod."""
    stub.script(text("gone on"))
    return client.run_print(LATER, args=["--resume", session.stem]).main[-1]


def _let_rest(session: Path) -> None:
    os.utime(session, (_LONG_AGO, _LONG_AGO))
