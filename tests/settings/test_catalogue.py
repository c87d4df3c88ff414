"""The list of settings: what holds for somebody who sets nothing, and who may set what."""

from __future__ import annotations

from typing import Any

import pytest

from brimline.settings.catalogue import BY_KEY, SETTINGS, Setting

SKILLS = ["context-summarization", "context-loading-protocol", "continue", "handoff"]
# By name: what it takes, what holds unset, the least, and whether a variable may set it.
LISTED: dict[str, tuple[str, Any, int, bool]] = {
    "context_window": ("tokens", None, 1_000, True),
    "compaction_tokens": ("tokens", None, 1_000, True),
    "guard.preset": ("choice", "default", 0, True),
    "guard.tiers": ("numbers", [30, 15, 7, 3], 0, True),
    "guard.tier_unit": ("choice", "to_compaction", 0, True),
    "guard.velocity_points": ("percent", 5, 0, True),
    "guard.ceiling": ("choice", "warn", 0, False),
    "guard.ceiling_percent": ("percent", 40, 0, True),
    "guard.ceiling_tokens": ("tokens", 350_000, 1_000, True),
    "guard.recovery_skills": ("texts", [*SKILLS, "review-summary", "session-review"], 0, False),
    "guard.gate_tools": ("texts", ["Skill"], 0, False),
    "statusline.format": ("texts", ["forecast", "tier", "used"], 0, False),
    "scout.mode": ("choice", "off", 0, False),
    "reminder.file": ("path", None, 0, False),
    "reminder.every": ("count", 0, 0, False),
    "offload.preset": ("choice", "default", 0, True),
    "offload.inline_bytes": ("count", 8_000, 0, True),
    "offload.read_bytes": ("count", 25_000, 0, True),
    "offload.never": ("texts", [], 0, False),
    "offload.always": ("texts", [], 0, False),
    "compaction.inside": ("choice", "balanced", 0, False),
    "compaction.when_cold": ("choice", "say", 0, False),
    "carry.enabled": ("flag", True, 0, False),
    "carry.critical_files": ("texts", [], 0, False),
    "carry.daily_note": ("path", None, 0, False),
    "store.max_mb": ("number", 500, 1, False),
    "store.max_age_days": ("number", 30, 0, False),
    "memory.exclude": ("folders", [], 0, False),
    "memory.url": ("url", None, 0, False),
}


def test_every_setting_is_held_here() -> None:
    """In the order in which they are listed; a new one is decided on in both places."""
    assert [setting.key for setting in SETTINGS] == [*LISTED]
    assert list(BY_KEY.values()) == [*SETTINGS]


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.key)
def test_a_setting_has_its_kind_its_default_its_least_and_who_may_set_it(setting: Setting) -> None:
    """Somebody who sets nothing gets these."""
    found = (setting.kind, setting.default, setting.least, setting.project)

    assert found == LISTED[setting.key]
    assert type(setting.default) is type(LISTED[setting.key][1])


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.key)
def test_each_has_a_variable_of_its_name(setting: Setting) -> None:
    """In capitals, behind ours."""
    assert setting.variable == f"BRIMLINE_{setting.key.upper().replace('.', '_')}"


def test_a_setting_that_says_nothing_else_is_a_projects_from_zero_on() -> None:
    """What it takes is told by its default, unless it is named."""
    plain, named = Setting("a.b", 5, "What."), Setting("a.c", None, "What.", kind="path", least=2)

    assert (plain.kind, plain.least, plain.project, plain.choices) == ("number", 0, True, ())
    assert (named.kind, named.least) == ("path", 2)
