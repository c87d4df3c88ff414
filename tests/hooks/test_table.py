"""The table of events: who is asked for what, and that nobody pays for what they do not use."""

from __future__ import annotations

import pytest

from brimline.fast import paths
from brimline.hooks.table import EVENTS
from brimline.install import entries, parts
from brimline.settings import config

WIRED = entries.Wiring("/usr/bin/python3", "/opt/lib", "/data")


@pytest.mark.row("S0-32", "S0-07")
def test_only_loads_and_overwrites_are_asked_about_and_reads_with_the_scout(home_dir: str) -> None:
    """A read starts no process of ours before it runs, unless `scout.mode` says so."""
    plain, wide = entries.hook_groups(WIRED), entries.hook_groups(WIRED._replace(scout=True))

    assert plain["PreToolUse"]["matcher"] == EVENTS["PreToolUse"].matcher()
    assert plain["PreToolUse"]["matcher"] == "Agent|Task|Skill|Write"
    assert len(plain["PreToolUse"]["hooks"]) == 1
    assert wide["PreToolUse"]["matcher"] == "Agent|Task|Skill|Write|Read|Glob|Grep|Bash"
    assert [event for event in EVENTS if plain[event] != wide[event]] == ["PreToolUse"]
    for word, wider in (("advise", True), ("block", True), ("off", False)):
        config.change_setting(paths.user_config(home_dir), "scout.mode", word, project=False)
        assert parts.wiring_for_interpreter("/usr/bin/python3", home_dir).scout is wider
    matched = {event for event, answered in EVENTS.items() if answered.matcher() is not None}
    assert matched == {"PreToolUse", "PostToolUse", "PostToolUseFailure"}
