"""The table of events: who is asked for what, and that nobody pays for what they do not use."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import pytest

from brimline import config
from brimline.fast import paths
from brimline.hooks import table
from brimline.hooks.table import EVENTS
from brimline.install import entries, parts

if TYPE_CHECKING:
    from types import ModuleType

WIRED = entries.Wiring("/usr/bin/python3", "/opt/lib", "/data")


@pytest.mark.row("S0-32", "S0-07")
def test_without_the_scout_only_loads_and_overwrites_are_asked_about() -> None:
    """A read, a search or a command starts no process of ours before it runs."""
    group = entries.hook_groups(WIRED)["PreToolUse"]

    assert group["matcher"] == EVENTS["PreToolUse"].matcher() == "Agent|Task|Skill|Write"
    assert len(group["hooks"]) == 1


@pytest.mark.row("S0-32")
def test_the_scout_widens_one_matcher_and_nothing_else() -> None:
    """Reads are added to the loads; every other registration is the same."""
    plain, wide = entries.hook_groups(WIRED), entries.hook_groups(WIRED._replace(scout=True))

    assert [event for event in EVENTS if plain[event] != wide[event]] == ["PreToolUse"]
    assert wide["PreToolUse"]["matcher"] == "Agent|Task|Skill|Write|Read|Glob|Grep|Bash"


@pytest.mark.parametrize(("word", "wider"), [("advise", True), ("block", True), ("off", False)])
def test_the_setting_decides_about_the_matcher(word: str, wider: bool, home_dir: str) -> None:
    """What `scout on` and `off` write."""
    config.change(paths.user_config(home_dir), "scout.mode", word, project=False)

    assert parts.wiring_for("/usr/bin/python3", home_dir).scout is wider


def test_every_room_offers_what_the_table_says() -> None:
    """A function for each event it is asked about, and `tidy` where it is named for that."""
    for answered in EVENTS.values():
        assert answered.purpose
        assert 1 <= answered.timeout_s <= 30
        for room in answered.rooms:
            assert callable(getattr(_face(room), answered.function))
    assert all(callable(_face(room).tidy) for room in table.TIDY)


def test_only_tool_events_have_a_matcher() -> None:
    """Elsewhere the client matches something else, or nothing."""
    matched = {event for event, answered in EVENTS.items() if answered.matcher() is not None}

    assert matched == {"PreToolUse", "PostToolUse"}


def _face(room: str) -> ModuleType:
    return importlib.import_module(f"brimline.{room}.hook")
