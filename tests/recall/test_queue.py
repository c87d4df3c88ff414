"""What waits for the server: compared, read in pages, sent in batches."""

from __future__ import annotations

import contextlib
import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from tests.recall.answers import DONE, READY, counted, queue_for, say, states

from brimline.errors import StoreError, TeamError
from brimline.recall import hits, place, points, qdrant, queue
from brimline.recall.queue import _AT_ONCE, Waiting
from brimline.recall.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.recall.conftest import Answering

PLACE = place.parse_place("qdrant+http://mia@127.0.0.1:1/team")


def test_what_differs_is_sent_and_what_is_gone_is_deleted() -> None:
    """A point that is the same on both sides waits for nothing."""
    here = {"same": (1, "s"), "changed": (2, "new"), "fresh": (3, "f")}
    waiting = queue._find_sends_and_deletes({"same": "s", "changed": "old", "gone": ""}, here)

    assert waiting.sends == {"changed": (2, "new"), "fresh": (3, "f")}
    assert waiting.deletes == ["gone"]
    assert (waiting.total, waiting.unknown) == (3, 0)


@pytest.mark.parametrize(
    ("number", "sizes"), [(0, []), (1, [1]), (4, [4]), (5, [4, 1]), (10, [4, 4, 2])]
)
def test_points_go_in_batches(
    number: int, sizes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """None is left out, and none is begun when the time is over."""
    monkeypatch.setattr(queue, "_AT_ONCE", 4)
    names = [str(at) for at in range(number)]
    batches = list(queue._batches_until(names, float("inf")))

    assert [len(batch) for batch in batches] == sizes
    assert [name for batch in batches for name in batch] == names
    assert list(queue._batches_until(names, time.monotonic())) == []


@pytest.mark.parametrize(
    ("sparse", "fits"),
    [
        ({"words": {}, "pair": {}}, True),
        ({"words": {}, "pair": {}, "more": {}}, True),
        ({"words": {}}, False),
        (None, False),
    ],
)
def test_a_collection_fits_that_has_words_whatever_else_it_has(sparse: Any, fits: bool) -> None:
    """Those of version 0.2.0 have vectors beside; another one is named, and left as it is."""
    params = {"vectors": {"meaning-8cf1": {}}, "sparse_vectors": sparse}
    if fits:
        queue.check_collection({"config": {"params": params}}, PLACE)
    else:
        with pytest.raises(TeamError, match=r"127\.0\.0\.1:1/team was not made by brimline"):
            queue.check_collection({"config": {"params": params}}, PLACE)


def test_a_missing_collection_is_made_and_its_fields_are_indexed(
    answering: Callable[..., Answering],
) -> None:
    """An index that is there is not made again."""
    params = points.points_schema()
    made = {"config": {"params": params}, "payload_schema": {"home": {}, "author": {}}}
    done = (200, {"result": True})
    server = answering((404, {}), done, (200, {"result": made}), done, done)
    where = place.parse_place(f"qdrant+http://{server.host}/team")
    with contextlib.closing(qdrant.Server(where, 60.0)) as nodes:
        queue.prepare_collection(nodes)

    assert server.asked[1][:3] == ("PUT", "/collections/team", params)
    assert {path for _, path, _, _ in server.asked[3:]} == {"/collections/team/index?wait=true"}
    assert sorted(body["field_name"] for _, _, body, _ in server.asked[3:]) == [
        "project",
        "session",
    ]


def test_a_home_has_one_id_that_lies_in_a_file(tmp_path: Path) -> None:
    """One that is damaged, or cannot be written, is told."""
    first = queue._read_or_make_home_id(str(tmp_path))
    file = tmp_path / "memory" / "home"

    assert re.fullmatch("[0-9a-f]{32}", first)
    assert queue._read_or_make_home_id(str(tmp_path)) == first == file.read_text()
    file.write_text(first[1:])
    with pytest.raises(TeamError, match=f"{file} is damaged: delete it"):
        queue._read_or_make_home_id(str(tmp_path))
    (tmp_path / "plain").write_text("")
    with pytest.raises(TeamError, match="plain/memory/home cannot be used: Not a directory"):
        queue._read_or_make_home_id(str(tmp_path / "plain"))


def test_what_is_new_is_sent_and_then_waits_no_more(
    home_dir: str, answering: Callable[..., Answering]
) -> None:
    """Each point with its home and author; progress is told by the batch."""
    say(home_dir, "otter", "elk")
    server = answering(DONE)
    own = queue_for(home_dir, server)
    waiting = own.find_waiting()
    steps: list[int] = []

    done = own.drain(waiting, progress=steps.append)

    assert (waiting.total, len(waiting.sends), waiting.deletes) == (2, 2, [])
    assert done == {"sent": 2, "deleted": 0, "waiting": 0, "unknown": 0}
    assert steps == [2]
    ((method, path, body, _),) = server.asked
    assert (method, path) == ("PUT", "/collections/team/points?wait=true")
    first, second = [point["payload"] for point in body["points"]]
    assert (first["text"], first["project"], first["session"]) == ("otter", "shop", "s1")
    assert (first["author"], first["home"], first["previous"]) == ("mia", own.home, "")
    assert second["previous"] == body["points"][0]["id"]
    assert own.find_waiting().total == 0
    assert all(states(home_dir).values())
    assert queue_for(home_dir, server, "ben").find_waiting().total == 2
    labels = "SELECT name, value FROM facts WHERE name GLOB 'label:*'"
    kept = hits.open_or_make_memory(home_dir).run_on_database(
        lambda base: base.execute(labels).fetchall()
    )
    assert kept == [("label:/gone/shop", "shop")]


def test_what_is_not_confirmed_stays_in_the_queue(
    home_dir: str, answering: Callable[..., Answering]
) -> None:
    """And is known to be there, perhaps."""
    say(home_dir, "otter")
    own = queue_for(home_dir, answering((200, {"result": {"status": "acknowledged"}})))

    with pytest.raises(TeamError, match=r"/team did not confirm a change: it is sent again"):
        own.drain(own.find_waiting())

    assert list(states(home_dir).values()) == [""]
    assert own.find_waiting().total == 1


def test_what_is_gone_here_goes_there(home_dir: str, answering: Callable[..., Answering]) -> None:
    """When the time is over, what is left waits."""
    say(home_dir, "otter", "elk")
    server = answering(DONE, DONE, DONE)
    own = queue_for(home_dir, server)
    own.drain(own.find_waiting())
    hits.open_or_make_memory(home_dir).put_entries(
        [Record("/f/elk", "walrus", "s1", 5.0, "user", "/gone/shop")]
    )
    waiting = own.find_waiting()
    late = own.drain(waiting._replace(unknown=7), until=0.0)
    done = own.drain(waiting)

    assert late == {"sent": 0, "deleted": 0, "waiting": 2, "unknown": 7}
    assert done == {"sent": 1, "deleted": 1, "waiting": 0, "unknown": 0}
    (_, path, body, _) = server.asked[1]
    assert (path, body) == (
        "/collections/team/points/delete?wait=true",
        {"points": waiting.deletes},
    )
    assert len(states(home_dir)) == 2
    assert not set(waiting.deletes) & states(home_dir).keys()


@pytest.mark.parametrize(
    ("there", "rebuild", "sent", "unknown"),
    [(2, False, 0, 0), (2, True, 2, 0), (0, False, 2, 0), (1, False, 2, 0), (3, False, 0, 1)],
)
def test_what_a_server_has_less_is_sent_again_and_what_it_has_more_stays(
    home_dir: str,
    answering: Callable[..., Answering],
    there: int,
    rebuild: bool,
    sent: int,
    unknown: int,
) -> None:
    """Unless all is wanted anew: then nothing of this home is left before."""
    say(home_dir, "otter", "elk")
    first = queue_for(home_dir, answering(DONE))
    first.drain(first.find_waiting())
    answers = [READY, DONE, counted(0)] if rebuild else [READY, counted(there)]
    server = answering(*answers)

    waiting = queue_for(home_dir, server).sync_list_and_find_waiting(rebuild=rebuild)

    assert (len(waiting.sends), waiting.deletes, waiting.unknown) == (sent, [], unknown)
    own = {"filter": {"must": [points.match_condition("home", first.home)]}}
    _, *deleted, count = [question[1:3] for question in server.asked]
    assert count == ("/collections/team/points/count", own | {"exact": True})
    assert deleted == [("/collections/team/points/delete?wait=true", own)] * rebuild
    assert len(states(home_dir)) == 2


def test_what_is_gone_here_and_was_not_found_there_is_deleted_all_the_same(
    home_dir: str, answering: Callable[..., Answering]
) -> None:
    """It may come back with a snapshot."""
    say(home_dir, "otter")
    first = queue_for(home_dir, answering(DONE))
    (own,) = first.find_waiting().sends
    first.drain(first.find_waiting())
    hits.open_or_make_memory(home_dir).run_on_database(
        lambda base: base.execute("DELETE FROM entries")
    )

    waiting = queue_for(home_dir, answering(READY, counted(0))).sync_list_and_find_waiting()

    assert waiting == Waiting({}, [own])
    assert list(states(home_dir)) == [own]


def test_a_folder_that_is_gone_is_called_what_it_was_called(
    home_dir: str, answering: Callable[..., Answering]
) -> None:
    """The path of a topic's file stays here, and a text is not endless."""
    memory = hits.open_or_make_memory(home_dir)
    memory.put_entries(
        [Record("/m/topic.md", "x" * 20_001, "/m/topic.md", 1.0, "topic", "/gone/shop")]
    )
    rule = "INSERT INTO facts VALUES ('label:/gone/shop', 'example.com/shop')"
    memory.run_on_database(lambda base: base.execute(rule))
    server = answering(DONE)
    own = queue_for(home_dir, server)
    own.drain(own.find_waiting())

    (point,) = server.asked[0][2]["points"]
    payload = point["payload"]
    assert (payload["project"], payload["session"]) == ("example.com/shop", "topic")
    assert len(payload["text"]) == 20_000
    assert own.project_label("/gone/other") == "other"


def test_the_list_is_written_whole(home_dir: str, answering: Callable[..., Answering]) -> None:
    """What fails in the middle leaves what was there; nothing to write makes no file."""
    own = queue_for(home_dir, answering())
    own._execute_per_row("no SQL at all", [])
    own._list({"a": "1"})
    broken: dict[str, Any] = {"a": "2", "b": None}

    with pytest.raises(StoreError):
        own._list(broken)

    assert states(home_dir) == {"a": "1"}
    assert own.find_waiting().deletes == ["a"]


@pytest.mark.parametrize(("status", "is_made"), [(409, True), (410, False), (400, False)])
def test_a_collection_that_somebody_makes_meanwhile_is_used(status: int, is_made: bool) -> None:
    """Any other refusal is told."""
    ready = {
        "config": {"params": points.points_schema()},
        "payload_schema": {name: {} for name in points.INDEXED},
    }
    coming: list[tuple[int, Any]] = [
        (404, {}),
        (status, {"status": {"error": "no"}}),
        (200, {"result": ready}),
    ]

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
            code, document = coming.pop(0)
            body = json.dumps(document).encode()
            self.send_response(code)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_PUT = _answer  # noqa: N815 - as the library has it

        def log_message(self, *_: Any) -> None:
            """Nobody is told."""

    http = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    server = qdrant.Server(place.parse_place(f"qdrant+http://127.0.0.1:{http.server_port}/team"))
    try:
        with contextlib.nullcontext() if is_made else pytest.raises(TeamError, match=str(status)):
            queue.prepare_collection(server)
    finally:
        server.close()
        http.shutdown()
        http.server_close()

    assert len(coming) == (0 if is_made else 1)


def test_what_is_known_of_a_point_is_what_was_sent_beside_its_text(
    home_dir: str, answering: Callable[..., Answering]
) -> None:
    """By sixteen digits: the entry before it and the author change them, another home does not."""
    say(home_dir, "otter", "elk")
    own = queue_for(home_dir, answering()).find_waiting().sends
    others = queue_for(home_dir, answering(), "ben").find_waiting().sends

    assert {len(state) for _, state in own.values()} == {16}
    assert own.keys() == others.keys()
    assert not {state for _, state in own.values()} & {state for _, state in others.values()}
    assert len({state for _, state in own.values()}) == 2
    assert sorted(number for number, _ in own.values()) == [1, 2]


def test_several_batches_are_counted(home_dir: str, answering: Callable[..., Answering]) -> None:
    """Each is told of when it is done; what is deleted, too."""
    say(home_dir, *[f"otter {number}" for number in range(_AT_ONCE + 1)])
    own = queue_for(home_dir, answering(DONE, DONE, DONE, DONE))
    steps: list[int] = []
    sent = own.drain(own.find_waiting(), progress=steps.append)
    hits.open_or_make_memory(home_dir).run_on_database(
        lambda base: base.execute("DELETE FROM entries")
    )
    deleted = own.drain(own.find_waiting(), progress=steps.append)

    assert (sent["sent"], sent["waiting"]) == (_AT_ONCE + 1, 0)
    assert (deleted["deleted"], deleted["sent"], deleted["waiting"]) == (_AT_ONCE + 1, 0, 0)
    assert steps == [_AT_ONCE, 1, _AT_ONCE, 1]
    assert states(home_dir) == {}
