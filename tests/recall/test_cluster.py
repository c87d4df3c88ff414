"""Three real nodes with two copies of everything: one dies while four write and two search."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.recall.answers import name_server
from tests.recall.servers import Cluster

if TYPE_CHECKING:
    from collections.abc import Iterator

_WORKER = Path(__file__).with_name("worker.py")
_WRITERS, _SEARCHERS = 4, 2
_WAIT_S = 120.0
COLLECTION = "memory"


@pytest.fixture
def cluster(qdrant: Path, tmp_path: Path) -> Iterator[Cluster]:
    """Three nodes, up."""
    nodes = Cluster(qdrant, tmp_path / "cluster")
    try:
        nodes.start()
        yield nodes
    finally:
        nodes.kill()


@pytest.mark.parametrize("count", [200, pytest.param(2_000, marks=pytest.mark.long)])
def test_nothing_that_was_confirmed_is_lost_when_a_node_dies(
    cluster: Cluster, tmp_path: Path, processes: list[subprocess.Popen[bytes]], count: int
) -> None:
    """Every search is answered by the server, the queues get empty, the node catches up."""
    each = count // _WRITERS
    wait = str(_WAIT_S * max(1, count // 500))
    writers = [_start(cluster, tmp_path, "write", str(each), wait) for _ in range(_WRITERS)]
    processes += [writer.process for writer in writers]
    writers[0].reach(1)
    searchers = [_start(cluster, tmp_path, "search", wait) for _ in range(_SEARCHERS)]
    processes += [searcher.process for searcher in searchers]
    # Each has sent a third of its own: now one node dies.
    for writer in writers:
        writer.reach(each // 3)
    cluster.nodes[0].kill()
    written = [writer.end() for writer in writers]
    assert [(one["said"], one["waiting"]) for one in written] == [(each, 0)] * _WRITERS
    assert [node.count(COLLECTION) for node in cluster.nodes[1:]] == [count] * 2

    cluster.nodes[0].start()
    _until(lambda: cluster.is_whole(COLLECTION))
    assert [node.count(COLLECTION) for node in cluster.nodes] == [count] * 3
    # Now another one may die: what the first one missed is there.
    cluster.nodes[1].kill()
    _until(lambda: cluster.nodes[0].count(COLLECTION) == count)
    for searcher in searchers:
        (searcher.home / "stop").touch()
    searched = [searcher.end() for searcher in searchers]
    print(written, searched)  # for `-s`
    assert [one["problems"] for one in searched] == [[]] * _SEARCHERS
    assert all(one["asked"] > 10 and one["most"] == 10 for one in searched)


class _Worker:
    """A process, what it prints, and its data folder."""

    def __init__(self, process: subprocess.Popen[bytes], home: Path) -> None:
        self.process, self.home = process, home

    def reach(self, number: int) -> None:
        """Wait until so many were sent."""
        assert self.process.stdout is not None
        told = 0
        while told < number:
            line = self.process.stdout.readline()
            assert line, "the writer has ended"
            told = int(line)

    def end(self) -> dict[str, Any]:
        """What it says in the end."""
        out, err = self.process.communicate(timeout=10 * _WAIT_S)
        assert self.process.returncode == 0, err
        told: dict[str, Any] = json.loads(out.splitlines()[-1])
        return told


def _start(cluster: Cluster, folder: Path, *arguments: str) -> _Worker:
    number = len(list(folder.glob("home-*")))
    home = folder / f"home-{number}"
    home.mkdir()
    url = cluster.url(COLLECTION)
    name_server(str(home), url)
    process = subprocess.Popen(
        [sys.executable, str(_WORKER), *arguments],
        env=dict(os.environ) | {"BRIMLINE_HOME": str(home)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    return _Worker(process, home)


def _until(is_so: Any) -> None:
    until = time.monotonic() + _WAIT_S
    while not is_so():
        assert time.monotonic() < until, "it did not come to that in time"
        time.sleep(0.1)
