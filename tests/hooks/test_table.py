"""The table of events: who is asked for what, and that nobody pays for what they do not use."""

from __future__ import annotations

import pytest

from brimline.fast import paths
from brimline.hooks.table import EVENTS, RECALL, Answered
from brimline.install import entries, parts
from brimline.settings import config

RECALLS = "|".join(RECALL)
WIRED = entries.Wiring("/usr/bin/python3", "/opt/lib", "/data")


@pytest.mark.row("S0-32", "S0-07")
def test_only_loads_and_overwrites_are_asked_about_and_reads_with_the_scout(home_dir: str) -> None:
    """A read starts no process of ours before it runs, unless `scout.mode` says so."""
    plain, wide = (
        entries.hook_group_by_event(WIRED),
        entries.hook_group_by_event(WIRED._replace(scout=True)),
    )

    narrow = plain["PreToolUse"]["matcher"]
    assert narrow == f"Agent|Task|Skill|Write|{RECALLS}"
    assert len(plain["PreToolUse"]["hooks"]) == 1
    assert wide["PreToolUse"]["matcher"] == f"{narrow}|Read|Glob|Grep|Bash"
    assert [event for event in EVENTS if plain[event] != wide[event]] == ["PreToolUse"]
    for word, wider in (("advise", True), ("block", True), ("off", False)):
        config.write_setting(paths.user_config(home_dir), "scout.mode", word)
        assert parts.wiring_for_interpreter("/usr/bin/python3", home_dir).scout is wider
    matched = {event for event, answered in EVENTS.items() if answered.tool_matcher() is not None}
    assert matched == {"PreToolUse", "PostToolUse", "PostToolUseFailure"}


def test_what_two_rooms_are_asked_about_stands_once() -> None:
    """The client gets one matcher for an event."""
    both = Answered(function="f", rooms={"bulk": "Bash", "carry": "Bash"}, purpose="")

    assert both.tool_matcher() == "Bash"


def test_each_event_has_its_time_and_counts_for_subagents_or_not() -> None:
    """Ten seconds, five when a session ends; what is measured is the main window alone."""
    told = {name: (event.timeout_s, event.subagents) for name, event in EVENTS.items()}

    assert told == {
        "SessionStart": (10, True),
        "UserPromptSubmit": (10, False),
        "PreToolUse": (10, False),
        "PostToolUse": (10, False),
        "PostToolUseFailure": (10, False),
        "Stop": (10, False),
        "PreCompact": (10, True),
        "PostCompact": (10, True),
        "SessionEnd": (5, True),
    }
