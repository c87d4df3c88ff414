"""What waits for the server: compared, read in pages, sent in batches."""

from __future__ import annotations

import contextlib
import re
import time
from typing import TYPE_CHECKING, Any

import pytest

from brimline.errors import TeamError
from brimline.team import place, points, qdrant, queue

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.team.conftest import Answering

PLACE = place.parse_place("qdrant+http://mia@127.0.0.1:1/team")


def test_what_differs_is_sent_and_what_is_gone_is_deleted() -> None:
    """A point that is the same on both sides waits for nothing."""
    here = {"same": (1, "s"), "changed": (2, "new"), "fresh": (3, "f")}
    waiting = queue._find_difference({"same": "s", "changed": "old", "gone": ""}, here)

    assert waiting.sends == {"changed": (2, "new"), "fresh": (3, "f")}
    assert waiting.deletes == ["gone"]
    assert (waiting.total, waiting.unknown) == (3, 0)


@pytest.mark.parametrize(
    ("number", "sizes"), [(0, []), (1, [1]), (64, [64]), (65, [64, 1]), (130, [64, 64, 2])]
)
def test_points_go_in_batches_of_64(number: int, sizes: list[int]) -> None:
    """None is left out, and none is begun when the time is over."""
    names = [str(at) for at in range(number)]
    batches = list(queue._batches(names, float("inf")))

    assert [len(batch) for batch in batches] == sizes
    assert [name for batch in batches for name in batch] == names
    assert list(queue._batches(names, time.monotonic())) == []


def test_the_ids_of_all_pages_are_read(answering: Callable[..., Answering]) -> None:
    """Each question says where the page before ended."""
    pages = [
        {"points": [{"id": "a"}, {"id": "b"}], "next_page_offset": "c"},
        {"points": [{"id": 3}], "next_page_offset": None},
        {"points": [{"id": "more"}], "next_page_offset": None},
    ]
    server = answering(*[(200, {"result": page}) for page in pages])
    where = place.parse_place(f"qdrant+http://{server.host}/team")
    with contextlib.closing(qdrant.Server(where, 60.0, 60.0)) as nodes:
        ids = queue._fetch_point_ids(nodes, {"filter": {}})

    assert ids == {"a", "b", "3"}
    common = {"filter": {}, "limit": 10_000, "with_payload": False}
    assert [body for _, _, body, _ in server.asked] == [common, common | {"offset": "c"}]
    assert {path for _, path, _, _ in server.asked} == {"/collections/team/points/scroll"}


def made_with(sparse: Any, *vectors: str) -> dict[str, Any]:
    """How the server describes a collection."""
    params = {"vectors": dict.fromkeys(vectors), "sparse_vectors": sparse}
    return {"config": {"params": params}}


@pytest.mark.parametrize(
    ("sparse", "is_own", "fits"),
    [
        ({"words": {}, "pair": {}}, True, True),
        ({"words": {}, "pair": {}, "more": {}}, True, True),
        ({"words": {}}, True, False),
        (None, True, False),
        ({"words": {}, "pair": {}}, False, False),
    ],
)
def test_a_collection_fits_that_was_made_for_the_same_model(
    sparse: Any, is_own: bool, fits: bool
) -> None:
    """Another one is named, and left as it is."""
    name = points.vector_name(points.load_table()) if is_own else "meaning-other"
    if fits:
        queue.check_collection(made_with(sparse, name), PLACE)
    else:
        said = rf"127\.0\.0\.1:1/team was made for another model \({name}\) than"
        with pytest.raises(TeamError, match=said):
            queue.check_collection(made_with(sparse, name), PLACE)


def test_a_missing_collection_is_made_and_its_fields_are_indexed(
    answering: Callable[..., Answering],
) -> None:
    """With as many copies as the address says; an index that is there is not made again."""
    params = points.points_schema(points.load_table())
    made = {"config": {"params": params}, "payload_schema": {"home": {}, "author": {}}}
    done = (200, {"result": True})
    server = answering((404, {}), done, (200, {"result": made}), done, done)
    where = place.parse_place(f"qdrant+http://{server.host}/team?replication=3")
    with contextlib.closing(qdrant.Server(where, 60.0, 60.0)) as nodes:
        queue.prepare_collection(nodes)

    copies = {"replication_factor": 3, "write_consistency_factor": 1}
    assert server.asked[1][:3] == ("PUT", "/collections/team", params | copies)
    assert {path for _, path, _, _ in server.asked[3:]} == {"/collections/team/index?wait=true"}
    assert sorted(body["field_name"] for _, _, body, _ in server.asked[3:]) == [
        "project",
        "session",
    ]


def test_a_home_has_one_id_that_lies_in_a_file(tmp_path: Path) -> None:
    """One that is damaged, or cannot be written, is told."""
    first = queue._home_id(str(tmp_path))
    file = tmp_path / "memory" / "home"

    assert re.fullmatch("[0-9a-f]{32}", first)
    assert queue._home_id(str(tmp_path)) == first == file.read_text()
    file.write_text(first[1:])
    with pytest.raises(TeamError, match=f"{file} is damaged: delete it"):
        queue._home_id(str(tmp_path))
    (tmp_path / "plain").write_text("")
    with pytest.raises(TeamError, match="plain/memory/home cannot be used: Not a directory"):
        queue._home_id(str(tmp_path / "plain"))
