"""Two homes on one real server: what each finds, what is forgotten, what comes back."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.conftest import PROGRAM
from tests.recall.answers import name_server, say
from tests.recall.conftest import KEY
from tests.recall.homes import SESSIONS
from tests.recall.servers import Node

from brimline.fast import paths
from brimline.mcp import tools
from brimline.recall import points, together
from brimline.recall.record import Record
from brimline.transcript.project import project_of_folder

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.recall.conftest import Answering
    from tests.recall.homes import Homes


def url(node: Node, collection: str, author: str) -> str:
    """What `memory.url` is set to."""
    return f"qdrant+http://{author}@{node.host}/{collection}"


@pytest.fixture
def team(homes: Homes, node: Node, collection: str) -> Homes:
    """Both at the same server; anna has said something, and nothing is sent yet."""
    for name in ("anna", "ben"):
        homes.join(name, url(node, collection, name))
    homes.say(
        "anna", "The importer retries five times.", "My token is ghp_abcdefghijklmnopqrst0123."
    )
    return homes


def everything(node: Node, collection: str) -> list[dict[str, Any]]:
    """All points of a collection, as the server has them."""
    asked = {"limit": 1_000, "with_payload": True, "with_vector": True}
    points: list[dict[str, Any]]
    points = node.ask(f"/collections/{collection}/points/scroll", asked)["points"]
    return points


def test_two_homes_find_each_others_memories_after_one_sync(
    team: Homes, node: Node, collection: str
) -> None:
    """With author, session, time and source, secrets masked; each entry once, own ones locally."""
    assert team.sync() == {"sent": 4, "deleted": 0, "waiting": 0, "unknown": 0}
    assert team.sync() == {"sent": 0, "deleted": 0, "waiting": 0, "unknown": 0}
    assert [hit["author"] for hit in team.find("importer retries")][:2] == ["", ""]

    team.enter("ben")
    hits = team.find("how often does the importer retry?")
    assert hits[0]["text"] == "The importer retries five times."
    assert (hits[0]["author"], hits[0]["source"], hits[0]["project"]) == (
        "anna",
        "user",
        "importer",
    )
    assert hits[0]["at"] == pytest.approx(1_790_000_000, abs=3_600)
    assert len({hit["text"] for hit in hits}) == len(hits)
    kept = json.dumps(everything(node, collection))
    assert "ghp_" not in kept
    assert str(team.enter("anna")) not in kept


def test_a_server_that_0_2_0_made_serves_what_it_has_and_what_comes(
    team: Homes, node: Node, collection: str
) -> None:
    """Its points have vectors that nobody asks for any more; new ones have none."""
    body: dict[str, Any] = {"vectors": {"meaning-8cf1d5a0": {"size": 4, "distance": "Cosine"}}}
    node.ask(f"/collections/{collection}", points.points_schema() | body, "PUT")
    own = Record("0f5e8f9e-2f6d-5c3b-8a11-6d2f4f1c9a10", "The walrus is old.", "s", 5.0, "user")
    (old,) = points.to_points([points.Item(own, "", "")], {"author": "cleo", "home": "f" * 32})
    old["vector"]["meaning-8cf1d5a0"] = [0.1, 0.2, 0.3, 0.4]
    old["payload"]["project"] = "importer"
    node.ask(f"/collections/{collection}/points?wait=true", {"points": [old]}, "PUT")

    assert team.sync() == {"sent": 4, "deleted": 0, "waiting": 0, "unknown": 0}

    team.enter("ben")
    assert [hit["author"] for hit in team.find("walrus")] == ["cleo"]
    assert team.find("importer retries")[0]["author"] == "anna"


def test_what_one_forgets_is_gone_for_both(team: Homes, node: Node, collection: str) -> None:
    """At once where it was forgotten, with its next sync everywhere."""
    team.sync()
    team.say("ben", "The importer is written in Rust.")
    team.sync()
    assert "anna" in {hit["author"] for hit in team.find("importer")}
    team.enter("anna")
    done = team("forget", "--session", SESSIONS["anna"], "--yes")
    assert "memory sync" in done.err
    assert {hit["author"] for hit in team.find("importer")} == {"ben"}
    assert team.sync() == {"sent": 0, "deleted": 4, "waiting": 0, "unknown": 0}

    assert {hit["author"] for hit in team.find("importer")} == {"ben"}
    team.enter("ben")
    assert {hit["author"] for hit in team.find("importer")} == {""}
    assert {one["payload"]["author"] for one in everything(node, collection)} == {"ben"}


def test_a_topic_that_changes_or_goes_does_so_on_the_server(
    team: Homes, node: Node, collection: str
) -> None:
    """The text of before is not left behind."""
    project = team.enter("anna")
    team("memory", "add", "deploys", "--type", "project", "--description", "How", "On Fridays.")
    team.sync()
    topic = Path(paths.project_transcripts_dir(project), "memory", "deploys.md")
    topic.write_text(topic.read_text().replace("Fridays", "Mondays"))
    assert team.sync() == {"sent": 1, "deleted": 1, "waiting": 0, "unknown": 0}
    topics = [
        p["payload"] for p in everything(node, collection) if p["payload"]["source"] == "topic"
    ]
    assert [(one["text"], one["session"]) for one in topics] == [
        ("deploys: How\nOn Mondays.", "topic")
    ]
    topic.unlink()
    assert team.sync()["deleted"] == 1


def test_a_server_that_starts_empty_gets_it_all(homes: Homes, qdrant: Path, tmp_path: Path) -> None:
    """Its disk was lost, which a sync finds out; `--rebuild` sends everything in any case."""
    node = Node(qdrant, tmp_path / "node")
    try:
        node.start()
        for name in ("anna", "ben"):
            homes.join(name, url(node, "memory", name))
        homes.say("anna", "The importer retries five times.")
        assert homes.sync()["sent"] == 2
        node.kill()
        shutil.rmtree(tmp_path / "node" / "storage")
        node.start()
        assert homes.sync()["sent"] == 2
        assert homes.sync()["sent"] == 0
        assert homes.sync("--rebuild")["sent"] == 2
        homes.enter("ben")
        assert homes.find("importer retries")[0]["author"] == "anna"
    finally:
        node.kill()


def test_only_the_project_at_hand_is_searched_unless_everywhere(
    team: Homes, monkeypatch: pytest.MonkeyPatch, world: Path
) -> None:
    """A project is what its repository is cloned from, whatever its folder is called."""
    project = team.enter("anna")
    assert team.sync()["sent"] == 4
    for command in (
        ("init", "-q"),
        ("remote", "add", "origin", "git@Example.org:team/Importer.git"),
    ):
        subprocess.run(["git", *command], cwd=project, check=True, timeout=30)
    assert team.sync() == {"sent": 4, "deleted": 4, "waiting": 0, "unknown": 0}
    team.enter("ben")
    assert team.find("importer retries") == []
    assert (
        team.find("importer retries", "--everywhere")[0]["project"] == "example.org/team/importer"
    )
    clone = world / "ben" / "elsewhere"
    clone.mkdir()
    monkeypatch.chdir(clone)
    remote = "https://ben:secret@example.org/team/importer"
    for command in (("init", "-q"), ("remote", "add", "origin", remote)):
        subprocess.run(["git", *command], cwd=clone, check=True, timeout=30)
    assert team.find("importer retries")[0]["author"] == "anna"


def test_the_model_is_told_whose_it_is_and_can_read_it_whole(team: Homes) -> None:
    """A hit of the server has a key as any other."""
    team.sync()
    team.enter("ben")
    told, failed = tools.answer("recall", {"query": "importer retries"})
    line = next(line for line in told.split("\n") if "five times" in line)
    assert not failed
    assert "(by anna, user, " in line
    told, failed = tools.answer("recall", {"key": line.split()[0]})
    assert not failed
    assert "The importer retries five times." in told


def test_the_mcp_server_sends_what_waits(
    team: Homes, processes: list[subprocess.Popen[bytes]]
) -> None:
    """Without anybody asking for it, a moment after it was started."""
    project = team.enter("anna")
    server = subprocess.Popen(
        [*PROGRAM, "mcp"], cwd=project, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    processes.append(server)
    until = time.monotonic() + 60
    team.enter("ben")
    while not team("memory", "search", "importer retries", "--json").document["hits"]:
        assert time.monotonic() < until, "nothing was sent"
        time.sleep(0.2)
    assert team.find("importer retries")[0]["author"] == "anna"


def test_status_and_doctor_tell_how_it_is(team: Homes, node: Node, collection: str) -> None:
    """Reachable, version, how many points, how many wait; the key is nowhere."""
    team.enter("anna")
    team("memory", "index")
    team("memory", "sync")
    told = f"{node.host}/{collection}, Qdrant 1.16.3: 4 points; 0 waiting here"
    for command in ("memory status", "doctor"):
        said = team(*command.split()).out
        assert told in " ".join(said.split())
        assert KEY not in said


def test_a_search_asks_the_server_and_goes_on_without_it(
    home_dir: str, project_dir: str, answering: Callable[..., Answering], patient: None
) -> None:
    """With what a teammate said, else with why that is missing."""
    say(home_dir, "otter here")
    payload = {"text": "otter there", "previous": "", "project": "shop", "session": "s2"}
    payload |= {"source": "user", "author": "ben"}
    point = {"id": "p1", "score": 0.9, "payload": payload | {"at": 5.0}}
    found = [{"points": [point]}, {"points": []}]
    server = answering((200, {"result": found}), (403, {}))
    name_server(home_dir, f"qdrant+http://mia@{server.host}/team")

    def search() -> tuple[set[str], str]:
        told = together.document(home_dir, project_dir, "otter", 5, None)
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
    ("told", "text"),
    [
        ({}, "a.example/team, Qdrant 1.2: 7 points"),
        ({"waiting": 0}, "a.example/team, Qdrant 1.2: 7 points; 0 waiting here"),
        ({"waiting": 1_200}, "a.example/team, Qdrant 1.2: 7 points; 1,200 waiting here"),
        ({"problem": "It is away"}, "It is away"),
        ({"problem": "It is away", "waiting": 3}, "It is away; 3 waiting here"),
    ],
)
def test_how_it_is_with_a_server_is_one_line(told: dict[str, Any], text: str) -> None:
    """What is wrong, else what it has; and what waits for it, where that is known."""
    usual = {"server": "a.example/team", "version": "1.2", "points": 7}

    assert together.status_text({"waiting": None, "problem": ""} | usual | told) == text


def test_where_no_server_is_named_nothing_is_asked(home_dir: str, project_dir: str) -> None:
    """A setting without the beginning of an address names none; an empty one neither."""
    assert together.status(home_dir, project_dir) is None
    assert together.open_queue(home_dir, project_dir) is None
    name_server(home_dir, "")
    assert not together.is_server_named(home_dir)
    name_server(home_dir, "qdrant+http://mia@127.0.0.1:1/team")
    assert together.is_server_named(home_dir)
    queue = together.open_queue(home_dir, project_dir)
    assert queue
    assert queue.place.name == "127.0.0.1:1/team"
    say(home_dir, "otter")
    told = together.status(home_dir, project_dir)
    assert told
    assert (told["server"], told["waiting"], told["points"]) == ("127.0.0.1:1/team", 1, None)
    assert told["problem"] == "127.0.0.1:1 cannot be reached (ConnectError)"


def test_an_answer_that_takes_too_long_is_told_and_the_rest_is_shown(
    home_dir: str, project_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is here is found all the same; only the project at hand, unless everywhere."""
    monkeypatch.setattr(together, "WAIT_S", 0.0)
    say(home_dir, "otter here")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        name_server(home_dir, f"qdrant+http://mia@127.0.0.1:{port}/team")
        everywhere, here = [
            together.document(home_dir, project_dir, "otter", 5, within)
            for within in (None, project_of_folder(project_dir))
        ]
        others = [one for one in threading.enumerate() if one is not threading.main_thread()]
        together._cached_server.cache_clear()

    # Whoever ends does not wait for an answer.
    assert others
    assert all(one.daemon for one in others)
    assert [hit["text"] for hit in everywhere["hits"]] == ["otter here"]
    assert here["hits"] == []
    assert everywhere["problem"] == here["problem"] == "the team's server did not answer in time"
