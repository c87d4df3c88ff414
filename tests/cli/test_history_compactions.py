"""`brimline history --compactions`: a timeline with the messages that each summary holds."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from brimline.hooks import entry
from brimline.testing import SessionBuilder, event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .conftest import Outcome

SESSION = "1f0c2d3e-aaaa-4bbb-8ccc-000000000001"


class Boundary(NamedTuple):
    """What the client's own row says of a compaction."""

    session_id: str
    at: str
    trigger: str
    pre_tokens: int


@pytest.fixture
def projects(world: Path) -> Path:
    """Where the client keeps the sessions of a project."""
    folder = world / "home" / ".claude" / "projects" / "-home-dev-project"
    folder.mkdir(parents=True)
    return folder


def boundaries(folder: Path) -> Iterator[Boundary]:
    """The boundary rows of all sessions, read without any code of ours."""
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            if '"compact_boundary"' not in line:
                continue
            row = json.loads(line)
            if row.get("subtype") == "compact_boundary":
                told = row["compactMetadata"]
                yield Boundary(path.stem, row["timestamp"], told["trigger"], told["preTokens"])


def generated(folder: Path) -> None:
    """Three sessions: two compactions with what follows them, a manual one, and none."""
    for number, points in enumerate([(155_301, 155_539), (82_572,), ()]):
        name = f"{number}aaaaaaa-aaaa-4bbb-8ccc-000000000001"
        session = SessionBuilder(str(folder / f"{name}.jsonl"), session_id=name)
        session.now += number * 100_000
        session.counter = number * 1_000
        session.prompt("begin")
        for tokens in points:
            session.tool_call(tokens - 900)
            session.compact(tokens, "auto" if number == 0 else "manual", summary="x" * 9_000)
            session.reply(51_000)
            session.now += 3_000


def listed(brimline: Callable[..., Outcome], *arguments: str) -> list[dict[str, Any]]:
    """The compactions as JSON."""
    done = brimline("history", "--compactions", "--json", *arguments)
    found: list[dict[str, Any]] = json.loads(done.out)["compactions"]
    return found


@pytest.mark.row("S2-21")
def test_each_recorded_compaction_is_reported_with_the_figures_of_its_row(
    projects: Path, brimline: Callable[..., Outcome]
) -> None:
    """Of generated sessions, and of recorded ones where `BRIMLINE_CORPUS` names some."""
    generated(projects)
    corpus = os.environ.get("BRIMLINE_CORPUS")
    for path in sorted(Path(corpus).glob("*.jsonl")) if corpus else []:
        shutil.copyfile(path, projects / path.name)
    recorded = sorted(boundaries(projects))

    found = listed(brimline)

    reported = [Boundary(*[one[name] for name in Boundary._fields]) for one in found]
    assert sorted(reported) == recorded
    assert len(recorded) >= 3
    assert all(one["post_tokens"] and one["summary_characters"] for one in found)
    assert all(one["post_tokens"] < one["pre_tokens"] for one in found)
    assert {one["messages_in_summary"] for one in found} == {None}


def test_the_messages_that_a_summary_holds_stand_beside_its_compaction(
    projects: Path, home_dir: str, brimline: Callable[..., Outcome]
) -> None:
    """The first compaction was before the installation: blank."""
    session = SessionBuilder(str(projects / f"{SESSION}.jsonl"), session_id=SESSION)
    session.prompt("Never deploy on Fridays.")
    session.compact(155_301)
    session.now = time.time() - 60
    session.prompt("Use port 5433.")
    session.reply(160_000)
    for name, fields in (
        ("PreCompact", {"trigger": "auto"}),
        ("SessionStart", {"source": "compact"}),
        ("PostCompact", {"trigger": "auto", "compact_summary": "He said: use it. Use port 5433."}),
    ):
        entry.respond(name, json.dumps(event(name, session, **fields)).encode(), home_dir)
    session.now = time.time()
    session.compact(166_000)

    first, second = listed(brimline)
    lines = brimline("history", "--compactions").out.splitlines()

    names = ("messages_of_the_user", "messages_in_summary")
    assert [first[name] for name in names] == [None, None]
    assert [second[name] for name in names] == [2, 1]
    assert second["card_characters"] > 200
    assert lines[1].split()[-2:] == ["held", "card"]
    assert lines[3].split()[-2] == "1/2"
