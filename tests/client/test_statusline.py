"""The status line in an interactive client on a pseudo-terminal."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from .brimline_home import Installed
from .stub_api import filled, rounds, text

if TYPE_CHECKING:
    from .harness import Client
    from .stub_api import StubApi

THEIRS = {"type": "command", "command": 'cat > seen.json; echo "it\'s mine"', "padding": 1}


@pytest.mark.row("S0-28")
@pytest.mark.parametrize(
    ("model", "window", "columns"),
    [("claude-sonnet-4-6", 200_000, 60), ("claude-opus-5", 1_000_000, 80)],
)
def test_the_line_is_whole_in_a_narrow_terminal_beside_the_one_from_before(
    model: str, window: int, columns: int, client: Client, stub: StubApi
) -> None:
    """Distance and forecast first; what does not fit is left out, and nothing is cut.

    The old command gets the same input; `status` then knows the window from ours.
    """
    client.write_settings({"statusLine": THEIRS})
    before = client.settings_path().read_bytes()
    installed = Installed(client)
    installed.install()
    steps = [window * share // 100 for share in (61, 62, 64, 65, 67)]
    stub.script(*rounds(*steps), text("done here", filled(steps[-1])))

    with client.interactive(model=model, columns=columns) as session:
        session.ready()
        session.wait_for(f"{'1M' if window == 1_000_000 else '200k'} window, not measured yet")
        session.say("go", "done here", "it's mine")
        screen = session.wait_for(
            lambda found: re.search(r"k to compaction · ~\d+ req", found) is not None
        )

    (line,) = [line.strip() for line in screen.splitlines() if "k to compaction" in line]
    assert re.fullmatch(
        r"[\d.]+k to compaction · ~\d+ req\. \(\d+–\d+\)( · L1)?( · \d+% of \w+ window)?",
        line,
    )
    assert ("window" in line) is (columns == 80)
    seen = json.loads((client.project / "seen.json").read_text(encoding="utf-8"))
    assert seen["context_window"]["context_window_size"] == window
    report = installed.status(client.transcripts()[-1].stem)
    assert (report["window_tokens"], report["window_source"]) == (window, "statusline")
    assert report["occupancy_tokens"] == steps[-1]
    assert installed.errors() == ""
    assert installed.command("uninstall", "--yes").returncode == 0
    assert client.settings_path().read_bytes() == before
