"""The list of hooks: who is asked for what, and that nobody pays for what they did not ask for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from brimline import config, paths
from brimline.guard.ceiling import GATED_TOOLS
from brimline.hooks import run
from brimline.install import installer, spec

if TYPE_CHECKING:
    from pathlib import Path

    from brimline.install import entries


@pytest.mark.row("S0-32", "S0-07")
def test_without_the_scout_only_loads_and_overwrites_are_asked_about() -> None:
    """A read, a search or a command starts no process of ours before it runs."""
    (before_tools,) = [hook for hook in spec.hooks() if hook.event == "PreToolUse"]

    assert before_tools.matcher == "Agent|Task|Skill|Write"
    assert tuple(before_tools.matcher.split("|")) == (*GATED_TOOLS, "Write")


@pytest.mark.row("S0-32")
def test_the_installed_settings_say_the_same(
    user_settings: Path, wired: entries.Wiring, home_dir: str, project_dir: str
) -> None:
    """One group before tools, with that matcher; the client asks for nothing else."""
    installer.install(str(user_settings), wired, home_dir, project_dir)

    (group,) = _hooks(user_settings)["PreToolUse"]

    assert group["matcher"] == "Agent|Task|Skill|Write"
    assert len(group["hooks"]) == 1


@pytest.mark.row("S0-32")
def test_the_scout_widens_one_matcher_and_nothing_else() -> None:
    """Reads are added to the loads; every other registration is the same."""
    plain, wide = spec.hooks(), spec.hooks(scout=True)

    changed = [
        (before, after) for before, after in zip(plain, wide, strict=True) if before != after
    ]

    ((before, after),) = changed
    assert before.event == after.event == "PreToolUse"
    assert after.matcher == "Agent|Task|Skill|Write|Read|Glob|Grep|Bash"
    assert (before.timeout_s, before.purpose) == (after.timeout_s, after.purpose)
    assert spec.hooks() == spec.HOOKS


@pytest.mark.parametrize(("word", "wider"), [("true", True), ("false", False)])
def test_the_setting_decides_about_the_matcher(
    word: str, wider: bool, python: str, root: Path, home_dir: str
) -> None:
    """What `scout on` and `off` write."""
    config.change(paths.user_config(home_dir), "scout.enabled", word, project=False)

    assert installer.wiring_for(python, home_dir).scout is wider


def test_every_event_is_listed_once_with_its_purpose() -> None:
    """The list is what the reference page is made from."""
    events = [hook.event for hook in spec.HOOKS]

    assert len(set(events)) == len(events)
    assert set(events) == set(run.HANDLERS)
    assert all(hook.purpose for hook in spec.HOOKS)


def test_timeouts_are_seconds_and_short() -> None:
    """The client counts in seconds; a hook that hangs must not hang a session."""
    assert all(1 <= hook.timeout_s <= 30 for hook in spec.HOOKS)


def test_only_tool_events_have_a_matcher() -> None:
    """Elsewhere the client matches something else, or nothing."""
    matched = {hook.event for hook in spec.HOOKS if hook.matcher is not None}

    assert matched == {"PreToolUse", "PostToolUse"}


def _hooks(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_bytes())["hooks"]
    return found
