"""Which plugin acts in a project: the user alone switches one on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from brimline.fast import paths
from brimline.settings import clientsettings, config, plugins

OURS = "brimline@brimline-plugin"
ON, OFF = {OURS: True}, {OURS: False}


def write(path: str | Path, document: dict[str, Any]) -> None:
    """One of the client's files."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(json.dumps(document), encoding="utf-8")


@pytest.mark.parametrize(
    ("user", "project", "is_whole", "found"),
    [
        (ON, {}, True, OURS),
        (ON, ON, True, OURS),
        (ON, OFF, True, None),
        ({}, ON, True, None),
        (OFF, ON, True, None),
        (ON, {}, False, None),
        ({plugins.MOD: True, plugins.EARLIER_MOD: True}, {}, True, None),
        ({"brimline2@x": True}, {}, True, None),
        ([], "x", True, None),
    ],
)
def test_the_plugin_acts_where_the_user_has_it_and_nobody_switched_it_off(
    user: Any, project: Any, is_whole: bool, found: str | None, home_dir: str, project_dir: str
) -> None:
    """A repository can switch it off, and none on; one that is not there does not act."""
    files = clientsettings.path_by_scope(project_dir)
    for scope, enabled in (("user", user), ("project", project)):
        write(files[scope], {"enabledPlugins": enabled})
    place = Path(home_dir).parent / "cache"
    names = (OURS, plugins.MOD, plugins.EARLIER_MOD, "brimline2@x")
    records = {name: [{"scope": "user", "installPath": str(place)}] for name in names}
    write(f"{paths.client_config_dir()}/plugins/installed_plugins.json", {"plugins": records})
    if is_whole:
        write(place / "hooks" / "start", {})

    assert plugins.plugin_at_work(project_dir) == found
    namesakes = plugins.plugins_of_our_name(project_dir)
    assert namesakes == ([OURS] if ON in (user, project) and project != OFF else [])


@pytest.mark.parametrize(
    ("matcher", "allow", "barred", "expected"),
    [
        ("", [], [], False),
        ("Skill|mcp__brimline__recall", [], [], True),
        ("mcp__brimline__recall2", [], [], False),
        ("mcp__brimline__recall", [], ["mcp__brimline"], False),
        ("", ["mcp__brimline"], [], True),
        ("", ["Bash(brimline store get:*)", "mcp__other__recall"], [], False),
        ("", ["mcp__brimline__recall"], ["mcp__brimline"], False),
        (7, "Bash", 7, False),
    ],
)
@pytest.mark.parametrize("barring", ["deny", "ask"])
def test_whether_recalls_are_let_pass_is_read_from_hooks_and_rules(
    project_dir: str, matcher: Any, allow: Any, barred: Any, barring: str, *, expected: bool
) -> None:
    """A rule that denies or asks is stronger."""
    hooks = {"PreToolUse": [{"matcher": matcher}]}
    rules = {"allow": allow, barring: barred}
    files = clientsettings.path_by_scope(project_dir)
    write(files["local"], {"permissions": rules, "hooks": hooks})

    assert plugins.is_recall_allowed(project_dir) is expected


@pytest.mark.parametrize(("barred", "expected"), [([], True), (["mcp__brimline"], False)])
def test_the_plugin_lets_recalls_pass(
    barred: list[str], home_dir: str, project_dir: str, *, expected: bool
) -> None:
    """Not over a rule of the user's."""
    files, place = clientsettings.path_by_scope(project_dir), Path(home_dir).parent / "cache"
    write(files["user"], {"enabledPlugins": ON, "permissions": {"ask": barred}})
    records = {OURS: [{"scope": "user", "installPath": str(place)}]}
    write(f"{paths.client_config_dir()}/plugins/installed_plugins.json", {"plugins": records})
    write(place / "hooks" / "start", {})

    policy = config.build_live_policy(home_dir, project_dir)

    assert bool(policy.client["recall_allowed"]) is expected
