"""Which plugin acts in a project: the user alone switches one on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from brimline.fast import paths
from brimline.settings import clientsettings, plugins

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
