"""How the model is told to start our command."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from brimline.fast import io, paths
from brimline.offload import recallcommand

if TYPE_CHECKING:
    from pathlib import Path


def test_a_command_on_the_path_is_called_by_its_name(
    home_dir: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the installer noted another way."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "brimline"
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"/nowhere::{tmp_path}/bin")
    io.replace_file(paths.command_file(home_dir), b"/opt/python -m brimline")

    assert recallcommand.find(home_dir) == "brimline"


@pytest.mark.parametrize(
    ("noted", "expected"),
    [(b"/opt/python -I -m brimline\n", "/opt/python -I -m brimline"), (b"", "brimline")],
)
def test_elsewhere_it_is_called_as_the_installer_noted(
    noted: bytes, expected: str, home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a note its name has to do."""
    monkeypatch.setenv("PATH", "/nowhere")
    assert recallcommand.find(home_dir) == "brimline"
    io.replace_file(paths.command_file(home_dir), noted)

    assert recallcommand.find(home_dir) == expected
