"""`brimline forget`: nothing of a session is anywhere in the data folder afterwards."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.cli.conftest import brimline, refused
from tests.recall.test_deep import found
from tests.recall.worlds import SESSION, recorded, talked

from brimline.recall import deep, forget
from brimline.rooms import values_in_all_traces
from brimline.state import forgotten
from brimline.state.forgotten import Asked

if TYPE_CHECKING:
    from tests.cli.conftest import Refused, Run

__all__ = ["brimline", "refused"]
OTHER = "0a1b2c3d-0000-4000-8000-000000000002"


def everything(home_dir: str) -> dict[str, bytes]:
    """All files of the data folder."""
    files = [path for path in Path(home_dir).rglob("*") if path.is_file()]
    return {str(path.relative_to(home_dir)): path.read_bytes() for path in files}


def test_forgetting_holds_behind_torn_lines(home_dir: str, project_dir: str, brimline: Run) -> None:
    """A full disk had cut the line before; the session is not taken in again."""
    talked(project_dir).prompt("The capybara plan.")
    brimline("memory", "index")
    record = Path(home_dir, "memory", "forgotten.jsonl")
    record.parent.mkdir(exist_ok=True)
    record.write_text('{"v":1,"at":1794643863.0,"sess')

    assert brimline("forget", "--session", SESSION, "--yes").code == 0
    brimline("memory", "index")

    assert SESSION not in {hit["group"].partition("/")[0] for hit in found(brimline, "capybara")}


def test_a_project_or_an_old_time_is_forgotten_with_all_its_sessions(
    world: Path, project_dir: str, brimline: Run
) -> None:
    """Topic files stay; what is said later is taken in again."""
    talked(project_dir)
    (world / "other").mkdir()
    session = recorded(str(world / "other"), OTHER)
    session.prompt("The marmot plan.")
    brimline("memory", "index")
    done = brimline("forget", "--project", str(world / "other"), "--yes", "--json").document
    assert done["session_ids"] == [OTHER]
    brimline("memory", "index", "--rebuild")
    assert "marmot" not in json.dumps(found(brimline, "marmot", "--everywhere"))
    session.now = 4_000_000_000
    session.prompt("The gopher plan.")
    brimline("memory", "index")
    assert found(brimline, "gopher", "--everywhere")

    topic = ("memory", "add", "one", "--type", "user", "--description", "About", "Its zebra.")
    brimline(*topic)
    brimline("memory", "index")
    # Both files are from today, so that none of the sessions is old; what was said then goes.
    brimline("forget", "--before", "2026-10-30", "--yes")
    assert [hit["source"] for hit in found(brimline, "store zebra", "--limit", "50")] == ["topic"]
    brimline("memory", "index", "--rebuild")
    assert "cookies" not in json.dumps(found(brimline, "cookies", "--limit", "50"))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "name one of --session, --project and --before"),
        (("--session", "x", "--before", "2026-01-01"), "name one of"),
        (("--before", "soon"), "soon"),
        (("--session", "nobody"), "nobody"),
    ],
)
def test_what_is_unclear_is_refused(
    refused: Refused, words: tuple[str, ...], sentence: str, home_dir: str
) -> None:
    """With one sentence; nothing is touched."""
    assert sentence in refused("forget", *words, "--yes")
    assert not Path(home_dir, "memory", "forgotten.jsonl").exists()


def test_the_sessions_that_something_is_kept_of_are_known_with_their_project(
    home_dir: str, project_dir: str
) -> None:
    """One that nothing is kept of is the client's alone; it ended when its last row was written."""
    session = talked(project_dir)
    deep.index_sources(home_dir, project_dir)
    recorded(project_dir, SESSION[:-1] + "9").prompt("Hello.")

    kept, _ = forget.sessions_with_kept_data(home_dir, values_in_all_traces)

    ((name, one),) = kept.items()
    assert (name, one.project) == (SESSION, os.path.realpath(project_dir))
    assert one.last_at == pytest.approx(session.now, abs=5)


def test_forgetting_tells_what_went_by_kind(home_dir: str, project_dir: str) -> None:
    """A dry run the same, and nothing is gone."""
    talked(project_dir)
    deep.index_sources(home_dir, project_dir)
    nothing = {"sessions": 1, "outputs": 0, "entries": 0, "files": 0, "backups": 0}

    would = forget.forget(home_dir, Asked((SESSION,)), values_in_all_traces, dry_run=True)
    assert would == nothing | {"entries": 6}
    assert forget.forget(home_dir, Asked((SESSION,)), values_in_all_traces) == would
    assert forget.forget(home_dir, Asked((SESSION,)), values_in_all_traces, dry_run=True) == nothing


def test_what_was_forgotten_is_on_record_unless_it_was_a_dry_run(home_dir: str) -> None:
    """By project, by time and by session, so that none of it is taken in again."""
    asked = Asked(("s1", "s2"), "/p", 5.0)
    forget.forget(home_dir, asked, values_in_all_traces, dry_run=True)
    assert forgotten.read_forgotten_lines(home_dir) == []

    forget.forget(home_dir, asked, values_in_all_traces)

    told = [{**line, "at": line["at"] > 0} for line in forgotten.read_forgotten_lines(home_dir)]
    known = {"v": 1, "at": True}
    assert told == [
        known | {"project": "/p"},
        known | {"before": 5.0},
        known | {"session": "s1", "cursor": {}},
        known | {"session": "s2", "cursor": {}},
    ]
