"""What the settings leave in the data folder, and how it is forgotten."""

from __future__ import annotations

import os

import pytest

from brimline.fast import paths
from brimline.settings import config, traces
from brimline.state.forgotten import Asked


@pytest.mark.parametrize(
    ("named", "dry_run", "is_left"),
    [(True, False, False), (True, True, True), (False, False, True), (False, True, True)],
)
def test_what_was_compiled_for_a_project_goes_with_it(
    named: bool, dry_run: bool, is_left: bool, home_dir: str, project_dir: str
) -> None:
    """Only where it is asked for, and not where it is only told what would go."""
    config.compile_policy(home_dir, project_dir)
    asked = Asked((), project_dir if named else "")

    assert traces.forget(home_dir, asked, dry_run=dry_run) == {}
    assert os.path.exists(paths.policy_file(home_dir, project_dir)) is is_left
