"""A data folder that the last version made: everything in it works on, nothing is converted.

`home-of-56b1cf2.tar.gz` was written by that version's own code: two outputs that it had compressed
with zstd, one plain, one gzip, two pins, its full-text index, and `references.txt` with the texts
that it left in transcripts.
"""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from brimline.fast import paths
from brimline.store import contents, layout, pins, stub

ARCHIVE = Path(__file__).parent / "home-of-56b1cf2.tar.gz"
LOG = b"".join(b"line %d of the build: all is well\n" % number for number in range(1, 401))
HAY = b"needle in a haystack\n" * 200
PROJECT = "/home/dev/project"
DAY_S = 86_400


@pytest.fixture
def texts(world: Path, home_dir: str) -> list[str]:
    """The texts in transcripts; the folder lies where brimline looks for it."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(world, filter="data")
    Path(home_dir + layout.CLIENTS).write_text(paths.client_config_dir() + "\n")
    return (world / "references.txt").read_text().split("\n=====\n")


@pytest.mark.row("S3-54", "S3-57", "S3-70")
def test_every_reference_in_a_transcript_still_leads_to_its_bytes(
    home_dir: str, texts: list[str]
) -> None:
    """In all forms that the last version wrote, through every compression it used."""
    found = [stub.parse_reference(text) for text in texts]

    assert all(text.startswith(stub.BEGINNINGS) for text in texts)
    assert [one and contents.get(home_dir, one.key) for one in found] == [LOG, HAY, b"small"]
    sizes = [(len(LOG), 400), (len(HAY), 200), (5, 1)]
    assert [one and (one.content_bytes, one.lines) for one in found] == sizes
    assert contents.get(home_dir, contents.last_key(home_dir)) == LOG + b"again\n"
    held = {pin.level: pin.reason for pin in pins.all_pins(home_dir).values()}
    assert held == {"hard": "the failing build", "soft": None}
