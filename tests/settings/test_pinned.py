"""Which data folder a command uses: what was written down, what the environment says, or none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from brimline.cli.surface import program
from brimline.errors import BrimlineError
from brimline.fast import paths
from brimline.settings import pinned


def installed_in(world: Path, name: str, patch: pytest.MonkeyPatch) -> tuple[str, str, str]:
    """Write an installation down that has a client's folder of its own."""
    patch.setenv("CLAUDE_CONFIG_DIR", f"{world}/{name}")
    patch.setenv("BRIMLINE_HOME", f"{world}/{name}/data")
    Path(world, name, "sessions").mkdir(parents=True)
    pinned.write_down()
    return paths.folders_to_pin()


@pytest.mark.parametrize("how", ["by its mark", "by its number", "a person did"])
def test_what_a_client_started_uses_the_folders_written_down(
    how: str, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client marks what it starts; where a shell lost that, a running one has left its number.

    In a terminal of one's own the variables count.
    """
    first = installed_in(world, "first", monkeypatch)
    last = installed_in(world, "last", monkeypatch)
    monkeypatch.setenv("BRIMLINE_HOME", f"{world}/planted")
    if how == "by its mark":
        monkeypatch.setenv("CLAUDECODE", "1")
    elif how == "by its number":
        Path(first[1], "sessions", f"{os.getppid()}.json").touch()

    pinned.pin_or_refuse("status")

    planted = (f"{world}/planted", *last[1:])
    wanted = {"by its mark": last, "by its number": first, "a person did": planted}
    assert paths.folders_to_pin() == wanted[how]


@pytest.mark.parametrize("fault", ["in the project", "around it", "others write", "another's"])
def test_a_data_folder_that_may_be_somebody_elses_is_refused(
    fault: str, world: Path, project_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one sentence, by every command but those that set brimline up; installed, it is fine."""
    data = Path(project_dir if fault == "in the project" else world, "data")
    data.mkdir()
    if fault == "around it":
        (world / ".git").mkdir()
    elif fault == "others write":
        data.chmod(0o777)
    elif fault == "another's":
        if os.getuid():
            pytest.skip("only root can give a folder away")
        os.chown(data, 12345, 12345)
    monkeypatch.setenv("BRIMLINE_HOME", str(data))

    done = CliRunner().invoke(program, ["store", "list"])

    assert isinstance(done.exception, BrimlineError)
    assert str(data) in str(done.exception)
    assert list(data.iterdir()) == []
    told = CliRunner().invoke(program, ["doctor"])
    assert told.exit_code == 1
    assert "no command uses it" in " ".join(told.stdout.split())
    Path(paths.client_config_dir()).mkdir()
    pinned.write_down()
    assert CliRunner().invoke(program, ["store", "list"]).exit_code == 0
