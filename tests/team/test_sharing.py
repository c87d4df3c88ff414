"""What is asked of the server and what is kept of its answers, without a server of Qdrant's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from brimline.errors import StoreError, TeamError
from brimline.fast import paths
from brimline.memory import hits
from brimline.search.turns import Entry
from brimline.team import place, points, together, traces
from brimline.team.queue import Queue, Waiting

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.team.conftest import Answering

DONE = (200, {"result": {"status": "completed"}})
MADE = {
    "config": {"params": points.points_schema(points.load_table())},
    "payload_schema": {name: {} for name in points.INDEXED},
}
READY = (200, {"result": MADE})


def counted(number: int) -> tuple[int, Any]:
    """What the server says about how many points it has."""
    return 200, {"result": {"count": number}}


def listed(*ids: str) -> tuple[int, Any]:
    """What the server says about which points it has."""
    found = [{"id": point} for point in ids]
    return 200, {"result": {"points": found, "next_page_offset": None}}


def queue_for(home_dir: str, server: Answering, author: str = "mia") -> Queue:
    """What waits for a server."""
    return Queue(home_dir, place.parse_place(f"qdrant+http://{author}@{server.host}/team"))


def say(home_dir: str, *texts: str) -> None:
    """Entries of one session."""
    entries = [Entry(f"/f/{text}", text, "s1", 5.0, "user", "/gone/shop") for text in texts]
    hits.open_memory(home_dir).put_entries(entries)


def states(home_dir: str) -> dict[str, str]:
    """The points on the list."""
    asked = "SELECT point, state FROM shared WHERE server = 'team'"
    return dict(
        hits.open_memory(home_dir).run_on_database(lambda base: base.execute(asked).fetchall())
    )


def test_what_is_new_is_sent_and_then_waits_no_more(
    home_dir: str, answering: Callable[..., Answering]
) -> None:
    """Each point with its home and author; progress is told by the batch."""
    say(home_dir, "otter", "elk")
    server = answering(DONE)
    queue = queue_for(home_dir, server)
    waiting = queue.find_waiting()
    steps: list[int] = []

    done = queue.drain(waiting, progress=steps.append)

    assert (waiting.total, len(waiting.sends), waiting.deletes) == (2, 2, [])
    assert done == {"sent": 2, "deleted": 0, "waiting": 0, "unknown": 0}
    assert steps == [2]
    ((method, path, body, _),) = server.asked
    assert (method, path) == ("PUT", "/collections/team/points?wait=true")
    first, second = [point["payload"] for point in body["points"]]
    assert (first["text"], first["project"], first["session"]) == ("otter", "shop", "s1")
    assert (first["author"], first["home"], first["previous"]) == ("mia", queue.home, "")
    assert second["previous"] == body["points"][0]["id"]
    assert queue.find_waiting().total == 0
    assert all(states(home_dir).values())
    assert queue_for(home_dir, server, "ben").find_waiting().total == 2
    labels = "SELECT name, value FROM facts WHERE name GLOB 'label:*'"
    kept = hits.open_memory(home_dir).run_on_database(lambda base: base.execute(labels).fetchall())
    assert kept == [("label:/gone/shop", "shop")]


def test_what_is_not_confirmed_stays_in_the_queue(
    home_dir: str, answering: Callable[..., Answering]
) -> None:
    """And is known to be there, perhaps."""
    say(home_dir, "otter")
    queue = queue_for(home_dir, answering((200, {"result": {"status": "acknowledged"}})))

    with pytest.raises(TeamError, match=r"/team did not confirm a change: it is sent again"):
        queue.drain(queue.find_waiting())

    assert list(states(home_dir).values()) == [""]
    assert queue.find_waiting().total == 1


def test_what_is_gone_here_is_deleted_there_first(
    home_dir: str, answering: Callable[..., Answering]
) -> None:
    """When the time is over, what is left waits."""
    say(home_dir, "otter", "elk")
    server = answering(DONE, DONE, DONE)
    queue = queue_for(home_dir, server)
    queue.drain(queue.find_waiting())
    hits.open_memory(home_dir).put_entries(
        [Entry("/f/elk", "walrus", "s1", 5.0, "user", "/gone/shop")]
    )
    waiting = queue.find_waiting()
    late = queue.drain(waiting._replace(unknown=7), until=0.0)
    done = queue.drain(waiting)

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
    ("there", "rebuild", "sent", "deleted", "unknown"),
    [
        ("all", False, 0, 0, 0),
        ("all", True, 2, 0, 0),
        ("none", False, 2, 0, 0),
        ("one", False, 1, 0, 0),
        ("more", False, 0, 0, 1),
        ("more", True, 2, 1, 0),
    ],
)
def test_where_the_server_has_another_number_it_is_asked_which(
    home_dir: str,
    answering: Callable[..., Answering],
    there: str,
    rebuild: bool,
    sent: int,
    deleted: int,
    unknown: int,
) -> None:
    """What it lacks waits again; what nobody here knows stays, unless all is wanted anew."""
    say(home_dir, "otter", "elk")
    first = queue_for(home_dir, answering(DONE))
    own = list(first.find_waiting().sends)
    first.drain(first.find_waiting())
    ids = {"all": own, "none": [], "one": own[:1], "more": [*own, "stranger"]}[there]
    server = answering(READY, counted(len(ids)), listed(*ids))

    waiting = queue_for(home_dir, server).compare_with_server(rebuild=rebuild)

    assert (len(waiting.sends), len(waiting.deletes), waiting.unknown) == (sent, deleted, unknown)
    asked = {"filter": {"must": [points.match_condition("home", first.home)]}}
    assert server.asked[1][1:3] == ("/collections/team/points/count", asked | {"exact": True})
    is_same = there == "all" and not rebuild
    assert len(server.asked) == (2 if is_same else 3)
    assert ("stranger" in states(home_dir)) is (there == "more" and rebuild)


def test_what_is_gone_here_and_was_not_found_there_is_deleted_all_the_same(
    home_dir: str, answering: Callable[..., Answering]
) -> None:
    """It may be on a node that did not answer."""
    say(home_dir, "otter")
    first = queue_for(home_dir, answering(DONE))
    (own,) = first.find_waiting().sends
    first.drain(first.find_waiting())
    hits.open_memory(home_dir).run_on_database(lambda base: base.execute("DELETE FROM entries"))

    waiting = queue_for(home_dir, answering(READY, counted(0), listed())).compare_with_server()

    assert waiting == Waiting({}, [own])
    assert list(states(home_dir)) == [own]


def test_a_folder_that_is_gone_is_called_what_it_was_called(
    home_dir: str, answering: Callable[..., Answering]
) -> None:
    """The path of a topic's file stays here, and a text is not endless."""
    memory = hits.open_memory(home_dir)
    memory.put_entries(
        [Entry("/m/topic.md", "x" * 20_001, "/m/topic.md", 1.0, "topic", "/gone/shop")]
    )
    rule = "INSERT INTO facts VALUES ('label:/gone/shop', 'example.com/shop')"
    memory.run_on_database(lambda base: base.execute(rule))
    server = answering(DONE)
    queue = queue_for(home_dir, server)
    queue.drain(queue.find_waiting())

    (point,) = server.asked[0][2]["points"]
    payload = point["payload"]
    assert (payload["project"], payload["session"]) == ("example.com/shop", "topic")
    assert len(payload["text"]) == 20_000
    assert queue.project_label("/gone/other") == "other"


def name_server(home_dir: str, url: str) -> None:
    """Have the user's settings name it."""
    path = Path(paths.user_config(home_dir))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'[memory]\nurl = "{url}"\n')


def test_doctor_tells_of_a_server_where_one_is_named(
    home_dir: str, project_dir: str, answering: Callable[..., Answering]
) -> None:
    """How it is, or what is wrong, and how much waits in either case."""
    assert not together.is_server_named(home_dir)
    assert list(traces.check(home_dir, project_dir)) == []
    say(home_dir, "otter")
    server = answering(READY, counted(7), (200, {"version": "1.2.3-" + "x" * 20}), (500, {}))
    name_server(home_dir, f"qdrant+http://mia@{server.host}/team")

    ((kind, told),) = traces.check(home_dir, project_dir)
    ((away, problem),) = traces.check(home_dir, project_dir)

    where = f"{server.host}/team"
    assert together.is_server_named(home_dir)
    assert (kind, away) == ("team", "team-away")
    assert told["told"] == f"{where}, Qdrant 1.2.3-{'x' * 14}: 7 points; 1 waiting here"
    assert problem["told"] == f"{server.host} says 500: no reason; 1 waiting here"
    name_server(home_dir, "qdrant+http://a b/team")
    ((away, wrong),) = traces.check(home_dir, project_dir)
    assert wrong["told"].startswith("memory.url has another form than")
    assert wrong["told"].endswith("/collection")


def test_a_search_asks_the_server_and_goes_on_without_it(
    home_dir: str, project_dir: str, answering: Callable[..., Answering], patient: None
) -> None:
    """With what a teammate said, else with why that is missing."""
    say(home_dir, "otter here")
    payload = {"text": "otter there", "previous": "", "project": "shop", "session": "s2"}
    payload |= {"source": "user", "author": "ben"}
    point = {"id": "p1", "score": 0.9, "payload": payload | {"at": 5.0}}
    found = [{"points": [point]}, {"points": []}, {"points": []}]
    server = answering((200, {"result": found}), (403, {}))
    name_server(home_dir, f"qdrant+http://mia@{server.host}/team")

    def search() -> tuple[set[str], str]:
        told = together.document(home_dir, project_dir, "otter", 5, everywhere=True)
        return {hit["text"] for hit in told["hits"]}, told["problem"]

    assert search() == ({"otter here", "otter there"}, "")
    texts, problem = search()
    assert texts == {"otter here"}
    assert problem.endswith("says 403: it refuses the key: is BRIMLINE_QDRANT_API_KEY right?")
    assert server.asked[0][1] == "/collections/team/points/query/batch"
    name_server(home_dir, "qdrant+http://mia:key@a.example/team")
    texts, problem = search()
    assert texts == {"otter here"}
    assert problem.startswith("memory.url holds a key")


@pytest.mark.parametrize(
    ("remote", "label"),
    [
        ("git@Example.org:team/Shop.git", "example.org/team/shop"),
        ("https://mia:secret@example.org:8443/team/shop/", "example.org/team/shop"),
        ("ssh://git@example.org/~mia/shop", "clone"),
        ("file:///srv/shop", "clone"),
        ("/srv/shop", "clone"),
        ("C:/shop", "clone"),
        ("", "clone"),
    ],
)
def test_a_project_is_called_by_what_it_is_cloned_from(
    tmp_path: Path, remote: str, label: str
) -> None:
    """Nothing of a disk and no login; else by its folder, whatever it was called before."""
    folder = tmp_path / "clone"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    for name in ("objects", "refs"):
        (folder / ".git" / name).mkdir()
    config = f'[remote "origin"]\n\turl = {remote}\n' if remote else ""
    (folder / ".git" / "config").write_text(f"[core]\n\tbare = false\n{config}")

    assert points.project_label(f"{folder}/", "before") == label


def test_the_list_is_written_whole_or_not_at_all(
    home_dir: str, answering: Callable[..., Answering]
) -> None:
    """What fails in the middle leaves what was there; nothing to write makes no file."""
    queue = queue_for(home_dir, answering())
    queue._execute_for_rows("no SQL at all", [])
    queue._write_listed_states({"a": "1"})
    broken: dict[str, Any] = {"a": "2", "b": None}

    with pytest.raises(StoreError):
        queue._write_listed_states(broken)

    assert states(home_dir) == {"a": "1"}
    assert queue.find_waiting().deletes == ["a"]
