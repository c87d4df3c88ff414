"""The tool `context_status`: whose figures, and nothing that nobody measured."""

from __future__ import annotations

import os
import re

import pytest

from brimline.fast import paths
from brimline.mcp import window_tools
from brimline.testing import SessionBuilder

ID = "1f0c2d3e-8a41-4f0b-b6a7-6f1f0a5b9c20"


def session(project_dir: str, session_id: str = ID) -> SessionBuilder:
    """A session where the client keeps those of a project."""
    folder = paths.project_transcripts_dir(project_dir)
    return SessionBuilder(f"{folder}/{session_id}.jsonl", session_id, project_dir)


def test_the_figures_are_those_of_the_last_request(home_dir: str, project_dir: str) -> None:
    """With their sources and the session that they are of; no hook needs to have run."""
    built = session(project_dir)
    for tokens in (100_000, 104_000, 108_000):
        built.reply(tokens)

    lines = window_tools.status_text(home_dir, project_dir).splitlines()

    assert lines[0] == (
        f"[brimline context_status] Session {ID} (the newest session of this project):"
    )
    told = dict(line.split(": ", 1) for line in lines[1:])
    assert told["in use"] == "108,000 of 200,000 tokens (54%; by: transcript)"
    assert told["the brim"].startswith("compaction expected at 167,000")
    assert told["the brim"].endswith("tokens left after the next request")
    assert told["tier"] == "L1"
    assert re.fullmatch(r"about \d+ requests \(\d+ to \d+\)", told["forecast"])


def test_a_session_without_a_reading_is_unknown(
    home_dir: str, project_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And so is a project without a session; neither is a zero."""
    nobody = window_tools.status_text(home_dir, project_dir)
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "../../etc")
    strange = window_tools.status_text(home_dir, project_dir)

    assert nobody == "[brimline context_status] Unknown: this project has no session yet."
    assert "unknown: no model request" in strange
    assert not os.path.exists(home_dir)


@pytest.mark.parametrize(
    ("margin", "told"), [(1, "1 token left "), (0, "0 tokens left "), (-1, "1 token past it ")]
)
def test_the_distance_is_told_on_both_sides_of_the_point(
    margin: int, told: str, home_dir: str, project_dir: str
) -> None:
    """At the point itself nothing is left, and nothing is past it."""
    session(project_dir).reply(167_000 - 120 - margin)

    text = window_tools.status_text(home_dir, project_dir)

    assert told in text
    assert "forecast" not in text
