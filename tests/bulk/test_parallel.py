"""Many processes at once: overlapping content, `kill -9`, and removals at the same time."""

from __future__ import annotations

import contextlib
import os
import random
import selectors
import time
from typing import TYPE_CHECKING

import pytest

from brimline.bulk import contents, layout, put, removal

from . import shelves
from .shelves import text

if TYPE_CHECKING:
    import subprocess

WRITERS = 16
CONTENTS = 40
KILLS = 8
# Each content is stored by many; its size decides how long the write takes.
WRITER = f"""
import random
chance = random.Random(int(sys.argv[2]))
for number in [chance.randrange({CONTENTS}) for _ in range(60)]:
    key = put.put(home, shelves.text(number, 500 + number * 5_000), {{"session": sys.argv[2]}})
    print(number, key, flush=True)
"""
REMOVER = """
from brimline.rooms import values_in_all_traces
from brimline.bulk.retention import Limits, Pass, prune
how = Limits(grace_s=3_600, unreferenced=True), Pass(values_in_all_traces)
removed = 0
print("ready", flush=True)
while True:
    removed += len(prune(home, *how).keys)
    print(removed, flush=True)
"""


@pytest.mark.row("S3-53")
def test_no_torn_blob_is_seen_and_no_promised_one_is_lost(
    home_dir: str, processes: list[subprocess.Popen[bytes]]
) -> None:
    """16 writers of overlapping content, half of them killed at moments nobody chose."""
    chance = random.Random(20260108)
    processes += [shelves.start(WRITER, home_dir, str(number)) for number in range(WRITERS)]
    victims = chance.sample(processes, KILLS)
    promised: dict[str, int] = {}
    with selectors.DefaultSelector() as selector:
        for process in processes:
            assert process.stdout
            selector.register(process.stdout, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select():
                line = key.fileobj.readline()  # type: ignore[union-attr]
                if not line:
                    selector.unregister(key.fileobj)
                    continue
                number, name = line.decode().split()
                promised[name] = int(number)
                if victims and chance.random() < 0.1:
                    victims.pop().kill()
            for blob in contents.list_blobs(home_dir)[:2]:
                contents.read_content(home_dir, blob.key)

    assert victims == []
    assert len(promised) > CONTENTS // 2
    for name, number in promised.items():
        assert contents.read_content(home_dir, name) == text(number, 500 + number * 5_000)
    for blob in contents.list_blobs(home_dir):
        contents.read_content(home_dir, blob.key)
    removal.put_back_or_delete_tmp_files(home_dir, time.time() + 60)
    assert shelves.temporary_files(home_dir) == []


def test_content_that_is_stored_again_while_it_is_removed_stays(
    home_dir: str, processes: list[subprocess.Popen[bytes]]
) -> None:
    """A put that returned has won, or the removal has, but before the put returned."""
    remover = shelves.start(REMOVER, home_dir)
    processes.append(remover)
    assert remover.stdout
    assert remover.stdout.readline() == b"ready\n"
    old = time.time_ns() - 7_200_000_000_000
    for turn in range(1_200):
        data = text(turn % 5, 3_000)
        key = put.put(home_dir, data, {})
        assert contents.read_content(home_dir, key) == data
        # It may be aside for a moment, until the removal sees that it was used.
        with contextlib.suppress(FileNotFoundError):
            os.utime(layout.stored_path(home_dir, key[7:]), ns=(old, old))

    assert remover.poll() is None
    remover.kill()
    assert int(remover.stdout.read().splitlines()[-1]) > 0
