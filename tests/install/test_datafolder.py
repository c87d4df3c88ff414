"""What deleting the data means, before it is done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brimline.install.datafolder import Stored

if TYPE_CHECKING:
    from .conftest import Home


def test_what_deleting_means_is_told_even_where_there_is_little(home: Home) -> None:
    """Without purged sessions and backups two lines are left."""
    lines = Stored(home.data).lines_on_what_deleting_means()

    assert lines == [
        f"Delete everything brimline has stored in {home.data}.",
        "Keys that previews and compactions left in sessions then lead nowhere.",
    ]
    data = Stored(home.data)
    data.backups = ["/a"]
    data.problems = ["unclear"]
    assert (
        data.lines_on_what_deleting_means()[0]
        == "Restore 0 sessions that an older brimline rewrote, in copies, first."
    )
    assert data.lines_on_what_deleting_means()[-1] == "Delete 1 backup beside sessions."
    data.backups = ["/a", "/b"]
    assert data.lines_on_what_deleting_means()[-1] == "Delete 2 backups beside sessions."
