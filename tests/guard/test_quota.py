"""Rate limits: taken from the status line, told once when a band is entered."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from tests.hooks.processes import environment

from brimline.guard import quota
from brimline.testing import event, statusline_event

from .dialogue import SILENT, after_tool, at_prompt, at_stop, kept, show_window, use

if TYPE_CHECKING:
    from pathlib import Path

    from brimline.testing import SessionBuilder

NOW = 1_800_000_000.0
HEAD = "## Usage Limits - "
_NOBODY_IS_ASKED = """
import json, sys
def watch(event, arguments):
    if event.startswith(("socket.", "subprocess.", "os.exec", "os.posix_spawn", "os.system")):
        raise SystemExit(f"tried {event}")
    if event == "open" and "credentials" in str(arguments[0]):
        raise SystemExit("read the credentials")
sys.addaudithook(watch)
from brimline.hooks import entry, statusline
told, asked, home = json.loads(sys.argv[1])
statusline.respond(json.dumps(told).encode(), home)
sys.stdout.write(entry.respond("UserPromptSubmit", json.dumps(asked).encode(), home).decode())
"""


@pytest.mark.row("S2-43")
def test_what_the_status_line_tells_is_kept_with_its_time(
    session: SessionBuilder, home_dir: str
) -> None:
    """One small file holds the limits and when they were told; the hooks read it."""
    limits = _limits(five_hour=72)
    show_window(session, home_dir, 200_000, limits)

    stored = json.loads(kept(session, home_dir, "statusline.json").read_bytes())

    assert stored["rate_limits"] == limits
    assert isinstance(stored["at"], float)
    assert HEAD + "5h: 72%" in at_prompt(session, home_dir).note


@pytest.mark.row("S2-43")
def test_nobody_is_asked_and_no_credentials_are_read(
    session: SessionBuilder, home_dir: str, world: Path
) -> None:
    """No connection, no program, no credentials file on the whole way to the line."""
    credentials = world / "home" / ".claude" / ".credentials.json"
    credentials.parent.mkdir()
    credentials.write_text('{"claudeAiOauth": {"accessToken": "secret"}}')
    told = statusline_event(session, 200_000, None) | {"rate_limits": _limits(five_hour=95)}
    asked = event("UserPromptSubmit", session, prompt="go on")
    given = json.dumps([told, asked, home_dir])

    done = subprocess.run(
        [sys.executable, "-c", _NOBODY_IS_ASKED, given],
        env=environment(world),
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "5h: 95% [CRITICAL]" in done.stdout


@pytest.mark.row("S2-44")
@pytest.mark.parametrize(
    ("limits", "text"),
    [
        (
            {
                "five_hour": {"used_percentage": 72, "resets_at": NOW + 2 * 3_600 + 3 * 60},
                "seven_day": {"used_percentage": 91.4, "resets_at": NOW + 76 * 3_600},
            },
            "5h: 72% [WARNING] | resets in 2h 3m | 7d: 91% [CRITICAL] | resets in 3d 4h",
        ),
        ({"five_hour": {"used_percentage": 70}, "seven_day": None}, "5h: 70% [WARNING]"),
        (
            {"five_hour": None, "seven_day": {"used_percentage": 12, "resets_at": NOW + 60}},
            "7d: 12% | resets in 0h 1m",
        ),
        (
            {"five_hour": {"used_percentage": 99, "resets_at": "2027-01-15T09:30:00Z"}},
            "5h: 99% [CRITICAL] | resets in 1h 30m",
        ),
        (
            {
                "five_hour": {"used_percentage": 99, "resets_at": NOW},
                "seven_day": {"used_percentage": 71},
            },
            "7d: 71% [WARNING]",
        ),
    ],
)
def test_the_line_holds_every_known_limit(limits: dict[str, Any], text: str) -> None:
    """Share, mark and time to the reset; one that was reset since is not worth telling."""
    assert quota.line(limits, NOW) == HEAD + text


@pytest.mark.row("S2-44")
@pytest.mark.parametrize(
    ("percent", "band"), [(0, 0), (69.9, 0), (70, 1), (89.9, 1), (90, 2), (100, 2), (140, 2)]
)
def test_a_band_begins_at_its_exact_percentage(percent: float, band: int) -> None:
    """70 warns, 90 is critical."""
    assert quota.bands(_limits(five_hour=percent), NOW) == {"5h": band}


@pytest.mark.row("S2-44")
def test_a_band_is_told_once_when_it_is_entered(session: SessionBuilder, home_dir: str) -> None:
    """And again after it was left; on the way down nothing is said."""
    heard = ""
    for percent in (60, 72, 75, 91, 95, 85, 92, 60, 71):
        heard += "x" if _told(session, home_dir, five_hour=percent) else "-"

    assert heard == "-x-x--x-x"


@pytest.mark.row("S2-44")
def test_a_jump_past_a_band_takes_it_along(session: SessionBuilder, home_dir: str) -> None:
    """From calm to critical is one line, and falling back to the warning is none."""
    assert "[CRITICAL]" in _told(session, home_dir, five_hour=95)

    assert _told(session, home_dir, five_hour=75) == ""


@pytest.mark.row("S2-44")
def test_each_limit_has_bands_of_its_own(session: SessionBuilder, home_dir: str) -> None:
    """The second one is news although the first was told; the line shows both."""
    assert "7d" not in _told(session, home_dir, five_hour=72)

    line = _told(session, home_dir, five_hour=73, seven_day=71)

    assert "5h: 73% [WARNING]" in line
    assert "7d: 71% [WARNING]" in line


@pytest.mark.row("S2-44")
def test_a_limit_that_was_reset_is_calm_again(session: SessionBuilder, home_dir: str) -> None:
    """An old figure is not told, and the next climb is, even without a calm figure between."""
    assert _told(session, home_dir, five_hour=72)

    assert _told(session, home_dir, five_hour=99, resets_in_s=-1) == ""
    assert "5h: 71% [WARNING]" in _told(session, home_dir, five_hour=71)


@pytest.mark.row("S2-44")
def test_limits_come_with_prompts_only(session: SessionBuilder, home_dir: str) -> None:
    """A turn in progress is not interrupted by them."""
    show_window(session, home_dir, 200_000, _limits(five_hour=95))

    assert after_tool(session, home_dir) == SILENT
    assert at_stop(session, home_dir) == SILENT
    assert at_prompt(session, home_dir).note.startswith(HEAD)


@pytest.mark.parametrize(
    "limits",
    [
        None,
        {},
        {"five_hour": None, "seven_day": None},
        {"five_hour": 95},
        {"five_hour": "95"},
        {"five_hour": {"used_percentage": "95"}},
        {"five_hour": {"used_percentage": None, "resets_at": None}},
        {"five_hour": {"used_percentage": True}},
        {"five_hour": [95]},
        {"another": {"used_percentage": 95}},
    ],
)
def test_limits_of_another_shape_are_no_limits(
    limits: dict[str, Any] | None, session: SessionBuilder, home_dir: str
) -> None:
    """Accounts without them send null; whatever else comes is not guessed at."""
    show_window(session, home_dir, 200_000, limits)

    assert at_prompt(session, home_dir) == SILENT


@pytest.mark.parametrize("resets_at", [None, True, "soon", [], {}])
def test_a_reset_of_another_shape_is_left_out(
    resets_at: Any, session: SessionBuilder, home_dir: str
) -> None:
    """The share is told without it."""
    limits = {"five_hour": {"used_percentage": 71, "resets_at": resets_at}}
    show_window(session, home_dir, 200_000, limits)

    assert at_prompt(session, home_dir).note == HEAD + "5h: 71% [WARNING]"


def test_without_a_status_line_there_is_nothing_to_tell(
    session: SessionBuilder, home_dir: str
) -> None:
    """Nothing is looked up elsewhere."""
    session.reply(50_000)

    assert at_prompt(session, home_dir) == SILENT


def test_the_off_preset_tells_no_limits(
    session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It measures and stays silent."""
    use(monkeypatch, guard__preset="off")

    assert _told(session, home_dir, five_hour=95) == ""


def _told(
    session: SessionBuilder, home_dir: str, resets_in_s: float = 7_200, **percents: float
) -> str:
    """Let the status line tell the limits, then ask with a prompt."""
    show_window(session, home_dir, 200_000, _limits(time.time() + resets_in_s, **percents))
    return at_prompt(session, home_dir).note


def _limits(resets_at: float | None = None, **percents: float) -> dict[str, Any]:
    """Limits in the client's shape; without a time they are reset in the far future."""
    at = 4_000_000_000 if resets_at is None else resets_at
    return {
        name: {"used_percentage": percent, "resets_at": at} for name, percent in percents.items()
    }
