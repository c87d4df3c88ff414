"""What the installer writes and remembers: modes, names, and what cannot be done."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from brimline.errors import InstallError
from brimline.install import records, settingsfile
from brimline.install.records import Change, Record

if TYPE_CHECKING:
    from .conftest import Home


def test_what_is_written_is_private_and_the_launcher_can_be_started(home: Home) -> None:
    """By the user alone; a file that is in the way is named."""
    launcher, other = Path(home.data, "bin", "hook"), Path(home.data, "command")
    for path in (launcher, other):
        Change(str(path), None, b"x").carry_out()

    assert [stat.S_IMODE(path.stat().st_mode) for path in (launcher, other)] == [0o700, 0o600]
    Change(str(other), b"x", None).carry_out()
    assert not other.exists()
    for after, verb in ((b"y", "write"), (None, "remove")):
        with pytest.raises(InstallError, match=f"^cannot {verb} {launcher}/below: "):
            Change(f"{launcher}/below", None, after).carry_out()


def test_a_record_has_a_short_name_made_from_the_path(home: Home) -> None:
    """Sixteen digits of it, so that every version of brimline finds it again."""
    records.save_record(home.data, Record("/a/settings.json", ["d"], b"{}"))

    digest = settingsfile.sha256_of_content(b"/a/settings.json")
    assert os.listdir(f"{home.data}/install") == [f"{digest[:16]}.json"]
