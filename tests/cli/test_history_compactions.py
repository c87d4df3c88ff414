"""`brimline history --compactions`: a timeline with what each summary kept, lost and got back."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from brimline import clock
from brimline.carry import audit, items
from brimline.testing import SessionBuilder

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


def audited(home_dir: str, session: str, at: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """An audit that was made at a point in time: one item kept, one reworded, two lost."""
    ledger = items.Ledger(session)
    for text in (
        "Never deploy on Fridays.",
        "Ask before deleting the bucket eu-backups-7.",
        "Write the migration",
        "Keep the port at 5433 in config/db.toml",
    ):
        ledger.add(items.Item(items.CONSTRAINT, text, items.USER))
    summary = "Never deploy on Fridays. Before the bucket eu-backups-7 is deleted, ask."
    found = audit.audit(summary, ledger, "- Write the migration")
    with monkeypatch.context() as patch:
        patch.setattr(clock, "now", lambda: at)
        audit.save(home_dir, session, 1, found)


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
    assert {one["items_lost"] for one in found} == {None}


def test_what_an_audit_found_stands_beside_its_compaction(
    projects: Path,
    home_dir: str,
    brimline: Callable[..., Outcome],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The second compaction was audited, the first was not: blank, and it is said so."""
    session = SessionBuilder(str(projects / f"{SESSION}.jsonl"), session_id=SESSION)
    session.compact(155_301)
    session.now += 600
    session.compact(166_000)
    audited(home_dir, SESSION, session.now + 2, monkeypatch)

    first, second = listed(brimline)
    text = brimline("history", "--compactions").out
    one = brimline("history", "--compactions", "--session", "1f0c").out

    names = ("items_kept", "items_paraphrased", "items_lost", "items_restored")
    assert [first[name] for name in names] == [None] * 4
    assert [second[name] for name in names] == [1, 1, 2, 2]
    lines = text.splitlines()
    assert lines[1].split()[-3:] == ["kept", "lost", "restored"]
    assert lines[2].split()[-2:] == ["unknown", "8"]
    assert lines[3].split()[-3:] == ["2", "2", "2"]
    assert "1 of these 2 were audited" in text
    assert "1 of these 2 were audited" in one


def test_an_audit_of_another_time_belongs_to_no_compaction(
    projects: Path,
    home_dir: str,
    brimline: Callable[..., Outcome],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A clock that was set, or a session whose transcript is gone."""
    session = SessionBuilder(str(projects / f"{SESSION}.jsonl"), session_id=SESSION)
    session.compact(155_301)
    audited(home_dir, SESSION, session.now + 90_000, monkeypatch)
    audited(home_dir, SESSION, -5.0, monkeypatch)

    assert listed(brimline)[0]["items_lost"] is None


def test_a_damaged_audit_does_not_cost_the_timeline(
    projects: Path, home_dir: str, brimline: Callable[..., Outcome]
) -> None:
    """It counts as none."""
    session = SessionBuilder(str(projects / f"{SESSION}.jsonl"), session_id=SESSION)
    session.compact(155_301)
    folder = Path(home_dir, "carry", SESSION)
    folder.mkdir(parents=True)
    (folder / "audit-1.json").write_bytes(b'{"v": 1, "at": "x", "items": []')

    done = brimline("history", "--compactions")

    assert done.code == 0
    assert "0 of these 1 were audited" in done.out
