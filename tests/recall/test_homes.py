"""Whose points are whose: each home knows its own on the server, whatever was lost."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from tests.recall.homes import SESSIONS

from brimline.fast import paths
from brimline.mcp import remembered, tools
from brimline.recall import points

if TYPE_CHECKING:
    from pathlib import Path

    from tests.recall.homes import Homes
    from tests.recall.servers import Node

SAID = "The importer retries five times."


@pytest.fixture
def url(node: Node, collection: str) -> str:
    """Anna's."""
    return f"qdrant+http://anna@{node.host}/{collection}"


@pytest.fixture
def team(homes: Homes, url: str) -> Homes:
    """Both at the same server; anna has said something, which is sent."""
    homes.join("ben", url.replace("anna", "ben"))
    homes.join("anna", url)
    homes.say("anna", SAID)
    assert homes.sync()["sent"] == 2
    return homes


def payloads(node: Node, collection: str) -> list[dict[str, Any]]:
    """What the server has."""
    asked = {"limit": 1_000, "with_payload": True}
    found = node.ask(f"/collections/{collection}/points/scroll", asked)["points"]
    return [point["payload"] for point in found]


def test_what_two_said_stays_when_one_forgets_it(team: Homes, node: Node, collection: str) -> None:
    """Each has a point of their own; a search lists the text once."""
    team.say("ben", SAID)
    assert team.sync()["sent"] == 2
    assert [(hit["text"], hit["author"]) for hit in team.find("importer retries")] == [
        (SAID, ""),
        ("Noted.", ""),
    ]
    team.enter("anna")
    team("forget", "--session", SESSIONS["anna"], "--yes")
    assert [hit["author"] for hit in team.find("importer retries")] == ["ben"]
    assert team.sync()["deleted"] == 2
    assert {one["author"] for one in payloads(node, collection)} == {"ben"}


@pytest.mark.parametrize(
    "how", [("forget", "--project", "."), ("forget", "--before", "2036-01-01"), ()]
)
def test_what_is_unwanted_goes_from_the_server_where_the_list_is_lost(
    team: Homes, node: Node, collection: str, how: tuple[str, ...]
) -> None:
    """The search folder is deleted, and so is the list; the server knows what is whose."""
    team("memory", "add", "deploys", "--type", "project", "--description", "How", "On Fridays.")
    team.say("ben", "The importer is written in Rust.")
    team.sync()
    project = team.enter("anna")
    shutil.rmtree(f"{paths.data_dir()}/search")
    if how:
        assert team(*how, "--yes").code == 0
    else:
        assert team("config", "set", "memory.exclude", project).code == 0
    # It may be all that there is of a session: only who asks for it loses it.
    assert team.sync()["unknown"] >= 2
    assert {"anna", "ben"} == {one["author"] for one in payloads(node, collection)}
    team.sync("--rebuild")
    left = {(one["author"], one["source"]) for one in payloads(node, collection)}
    assert left - {("anna", "topic")} == {("ben", "user"), ("ben", "reply")}


def test_another_spelling_of_the_address_is_the_same_server(
    team: Homes, node: Node, collection: str, url: str
) -> None:
    """What was sent by the other one is still one's own, and can be forgotten."""
    team.join("anna", url.replace("127.0.0.1", "localhost"))
    assert [hit["author"] for hit in team.find("importer retries")] == ["", ""]
    team("forget", "--session", SESSIONS["anna"], "--yes")
    assert team.find("importer retries") == []
    assert team.sync()["deleted"] == 2
    assert node.count(collection) == 0


def test_what_a_restored_snapshot_brings_back_is_deleted_again(
    team: Homes, node: Node, collection: str
) -> None:
    """The server is as it was before something was forgotten."""
    asked = {"limit": 10, "with_payload": True, "with_vector": True}
    before = node.ask(f"/collections/{collection}/points/scroll", asked)["points"]
    team("forget", "--session", SESSIONS["anna"], "--yes")
    assert team.sync()["deleted"] == 2
    node.ask(f"/collections/{collection}/points?wait=true", {"points": before}, "PUT")
    assert team.find("importer retries") == []
    assert team.sync()["unknown"] == 2
    team.sync("--rebuild")
    assert node.count(collection) == 0


def test_who_comes_back_sends_all_of_it(team: Homes, node: Node, collection: str, url: str) -> None:
    """Also where the collection is gone."""
    team("config", "unset", "memory.url")
    mine = {"filter": {"must": [{"key": "author", "match": {"value": "anna"}}]}}
    node.ask(f"/collections/{collection}/points/delete?wait=true", mine)
    team.join("anna", url)
    assert team.sync()["sent"] == 2
    node.ask(f"/collections/{collection}", method="DELETE")
    assert team.sync()["sent"] == 2
    assert node.count(collection) == 2


def test_another_label_is_put_on_what_was_sent_before(
    team: Homes, node: Node, collection: str, url: str
) -> None:
    """Nothing is left under the old one."""
    team.join("anna", url.replace("anna", "Anna%20K"))
    assert team.sync() == {"sent": 2, "deleted": 0, "waiting": 0, "unknown": 0}
    assert {one["author"] for one in payloads(node, collection)} == {"Anna K"}


def test_the_homes_id_is_private_and_goes_with_the_data(team: Homes, world: Path) -> None:
    """Once made it stays."""
    file = world / "anna" / "brimline" / "memory" / "home"
    known = file.read_text()
    assert (len(known), file.stat().st_mode & 0o777) == (32, 0o600)
    team.sync("--rebuild")
    assert file.read_text() == known
    assert team("uninstall", "--delete-data", "--yes").code == 0
    assert not file.exists()


@pytest.mark.parametrize(
    ("remote", "label"),
    [
        ("git@Example.org:team/Importer.git", "example.org/team/importer"),
        ("ssh://git@example.org:2222/team/importer.git/", "example.org/team/importer"),
        ("https://ben:secret@example.org/team/importer", "example.org/team/importer"),
        ("example.org:/srv/git/importer", "example.org/srv/git/importer"),
        ("https://ben:sec/ret@example.org/team/importer", "clone"),
        ("https://ben:12/ret@example.org/team/importer", "clone"),
        ("https://example.org/team/importer?token=secret", "clone"),
        ("file:///home/anna/secret", "clone"),
        ("file:/home/anna/secret", "clone"),
        ("/home/anna/secret", "clone"),
        ("C:\\Users\\anna\\secret", "clone"),
        ("C:/Users/anna/secret", "clone"),
        ("ext::sh -c secret", "clone"),
    ],
)
def test_a_projects_label_holds_no_path_or_token(tmp_path: Path, remote: str, label: str) -> None:
    """A remote of another kind than a host with a path: the folder's name."""
    folder = tmp_path / "clone"
    folder.mkdir()
    for command in (("init", "-q"), ("remote", "add", "origin", remote)):
        subprocess.run(["git", *command], cwd=folder, check=True, timeout=30)
    assert points.project_label(str(folder)) == label


def test_a_project_is_what_its_folder_is_cloned_from_now(
    team: Homes, node: Node, collection: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only one that is gone keeps the label that it had."""
    project = team.enter("anna")
    git = ["git", "-C", project]
    for label in ("team/importer", "team/other"):
        subprocess.run([*git, "init", "-q"], check=True, timeout=30)
        remote = f"https://example.org/{label}"
        subprocess.run([*git, "config", "remote.origin.url", remote], check=True, timeout=30)
        assert team.sync() == {"sent": 2, "deleted": 2, "waiting": 0, "unknown": 0}
        assert {one["project"] for one in payloads(node, collection)} == {f"example.org/{label}"}
    shutil.rmtree(project)
    monkeypatch.chdir(os.path.dirname(project))
    assert team.sync() == {"sent": 0, "deleted": 0, "waiting": 0, "unknown": 0}
    os.makedirs(project)
    assert team.sync()["deleted"] == 2
    assert {one["project"] for one in payloads(node, collection)} == {"importer"}


def test_a_hit_is_not_shown_to_it_for_long(team: Homes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its author may have forgotten it since."""
    team.enter("ben")
    told, _ = tools.answer("recall", {"query": "importer retries"})
    key = next(line for line in told.split("\n") if SAID in line).split()[0]
    monkeypatch.setattr(remembered, "_KEPT_S", -1.0)
    told, failed = tools.answer("recall", {"key": key})
    assert (failed, f"there is no entry {key}" in told) == (True, True)
