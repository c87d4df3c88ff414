"""`brimline status`: which session is meant, and whose folder it is of."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from brimline.fast import paths
from brimline.testing import SessionBuilder

if TYPE_CHECKING:
    from .conftest import Run


@pytest.mark.parametrize("length", [200, 201])
def test_the_folder_of_a_session_is_named_by_200_characters(
    length: int, project_dir: str, brimline: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the command runs in another one."""
    told = "/" + "f" * (length - 1)
    path = f"{paths.project_transcripts_dir(project_dir)}/abc.jsonl"
    SessionBuilder(path, session_id="abc", cwd=told).reply(50_000)
    Path(project_dir, "below").mkdir()
    monkeypatch.chdir(Path(project_dir, "below"))

    shown = told if length == 200 else told[:199] + "…"
    assert brimline("status").err == f"note: this session is of {shown}\n"
    assert brimline("status", "--session", "abc").err == ""
    assert brimline("status", "--session", path).err == ""
