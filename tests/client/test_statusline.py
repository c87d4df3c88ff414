"""The status line in an interactive client on a pseudo-terminal."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from .brimline_home import Installed
from .stub_api import bash, filled, text

if TYPE_CHECKING:
    from .harness import Client
    from .stub_api import StubApi


@pytest.mark.row("S0-28")
def test_the_status_line_tells_hooks_a_large_window(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """In a 1M session the line shows the fill, and `status` then knows the window from it."""
    stub.script(text("hello there", filled(250_000)))

    with client.interactive(model="claude-opus-5") as session:
        session.ready()
        session.wait_for("– of 1M window")
        session.send_line("go")
        session.wait_for("717k to compaction · 25% of 1M window")

    session_id = client.transcripts()[-1].stem
    report = installed.status(session_id)
    assert report["window_tokens"] == 1_000_000
    assert report["window_source"] == "statusline"
    assert report["occupancy_tokens"] == 250_000
    assert installed.errors() == ""


@pytest.mark.parametrize("columns", [60, 80])
@pytest.mark.parametrize("model", ["claude-sonnet-4-6", "claude-opus-5"])
def test_the_line_is_whole_in_a_narrow_terminal(
    model: str, columns: int, client: Client, stub: StubApi, installed: Installed
) -> None:
    """Distance and forecast first; what does not fit is left out, and nothing is cut."""
    window = 200_000 if model == "claude-sonnet-4-6" else 1_000_000
    steps = [window * share // 100 for share in (61, 62, 64, 65, 67)]
    stub.script(*[bash("sleep 0.3", filled(tokens)) for tokens in steps], text("done here"))

    with client.interactive(model=model, columns=columns) as session:
        session.ready()
        session.send_line("go")
        session.wait_for("done here")
        screen = session.wait_for(
            lambda found: re.search(r"k to compaction · ~\d+ req", found) is not None
        )

    (line,) = [line.strip() for line in screen.splitlines() if "to compaction" in line]
    assert re.fullmatch(
        r"[\d.]+k to compaction · ~\d+ req\. \(\d+–\d+\)( · L1 warning)?( · \d+% of \w+ window)?",
        line,
    )
    assert "…" not in line
    assert ("window" in line) is (columns == 80)


def test_a_status_line_that_was_there_before_is_still_shown(client: Client, stub: StubApi) -> None:
    """The old command gets the same input and its output stands beside ours."""
    theirs = {"type": "command", "command": 'cat > seen.json; echo "it\'s mine"', "padding": 1}
    client.write_settings({"statusLine": theirs})
    before = client.settings_path().read_bytes()
    installed = Installed(client)
    installed.install()
    stub.script(text("hello there", filled(100_000)))

    with client.interactive() as session:
        session.ready()
        session.send_line("go")
        session.wait_for("100k to refusal · 50% of 200k window")
        session.wait_for("it's mine")

    seen = json.loads((client.project / "seen.json").read_text(encoding="utf-8"))
    assert seen["context_window"]["context_window_size"] == 200_000
    assert installed.command("uninstall", "--yes").returncode == 0
    assert client.settings_path().read_bytes() == before
