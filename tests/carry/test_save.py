"""The checkpoint: readable, verified, tried twice, and whole whatever happens to the disk."""

from __future__ import annotations

import errno
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from brimline import fastio
from brimline.carry import items, save
from brimline.errors import StateError
from brimline.store import layout, read

SESSION = "1f0c2d3e-aaaa-4bbb-8ccc-000000000001"
ENOSPC = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def ledger() -> items.Ledger:
    """A ledger with items of several kinds and states."""
    found = items.Ledger(SESSION)
    found.add(items.Item(items.CONSTRAINT, "Never touch\nthe billing tables 💳", items.USER))
    found.add(items.Item(items.TASK, "Write the test", items.TOOL, status=items.DONE))
    found.add(items.Item(items.PLAN, "/p/plan.md", items.TOOL))
    found.folded["task"] = 7
    return found


def occasion(project_dir: str, *critical: str) -> save.Occasion:
    """An automatic compaction of a project."""
    return save.Occasion(
        "auto",
        transcript="/t.jsonl",
        project_dir=project_dir,
        reading={"occupancy": 165_200},
        git={"branch": "main", "head": "abc", "dirty": ["a", "b"]},
        critical_files=critical,
    )


def refusing(times: int, error: OSError = ENOSPC) -> Any:
    """A disk that refuses a number of writes."""
    left = [times]

    def write(path: str, data: bytes) -> None:
        left[0] -= 1
        if left[0] >= 0:
            raise error
        fastio.replace_file(path, data)

    return write


@pytest.mark.row("S4-22", "S4-25")
def test_a_checkpoint_is_for_people_and_for_programs(
    home_dir: str, project_dir: str, ledger: items.Ledger
) -> None:
    """Plans, tasks with their state, constraints word for word, and where things stood."""
    path = save.save(home_dir, ledger, occasion(project_dir))

    text = Path(path).read_text(encoding="utf-8")
    assert path == f"{home_dir}/carry/{SESSION}/checkpoint.md"
    assert text.startswith(f"# Checkpoint of session {SESSION}\n")
    assert "- Never touch the billing tables 💳\n" in text
    assert "- Write the test (done)\n" in text
    assert "- /p/plan.md\n" in text
    assert "- git: main at abc, 2 changed files\n" in text
    assert "- tokens in use: 165,200\n" in text
    document = save.load(home_dir, SESSION)
    assert document is not None
    assert items.from_document(document["ledger"], SESSION).items == ledger.items
    assert (document["trigger"], document["project"]) == ("auto", project_dir)


def test_only_its_owner_can_read_it(home_dir: str, project_dir: str, ledger: items.Ledger) -> None:
    """It holds text of the conversation."""
    folder = os.path.dirname(save.save(home_dir, ledger, occasion(project_dir)))

    assert os.stat(folder).st_mode & 0o777 == 0o700
    assert {os.stat(f"{folder}/{name}").st_mode & 0o777 for name in os.listdir(folder)} == {0o600}


@pytest.mark.row("S4-22", "S4-40")
def test_a_failed_save_is_tried_again(
    home_dir: str, project_dir: str, ledger: items.Ledger
) -> None:
    """One refused write does not matter."""
    path = save.save(home_dir, ledger, occasion(project_dir), write=refusing(1))

    assert Path(path).exists()
    assert save.load(home_dir, SESSION) is not None


@pytest.mark.row("S4-22", "S4-40")
def test_a_disk_that_stays_full_is_told_and_the_last_checkpoint_stays(
    home_dir: str, project_dir: str, ledger: items.Ledger
) -> None:
    """After the second try; what was saved before is still sound."""
    save.save(home_dir, ledger, occasion(project_dir))
    before = save.load(home_dir, SESSION)
    ledger.add(items.Item(items.NOTE, "new", items.PERSON))

    with pytest.raises(StateError, match=r"could not be saved.*No space left"):
        save.save(home_dir, ledger, occasion(project_dir), write=refusing(2))

    assert save.load(home_dir, SESSION) == before


@pytest.mark.row("S4-22")
@pytest.mark.parametrize(
    "spoil", [lambda data: data[:-20], lambda _: b"", lambda data: data + b" "]
)
def test_what_is_not_on_the_disk_as_it_was_written_counts_as_not_saved(
    home_dir: str, project_dir: str, ledger: items.Ledger, spoil: Any
) -> None:
    """A disk that says yes and keeps a part."""

    def write(path: str, data: bytes) -> None:
        fastio.replace_file(path, spoil(data))

    with pytest.raises(StateError, match="does not hold what was written"):
        save.save(home_dir, ledger, occasion(project_dir), write=write)


@pytest.mark.row("S4-22")
def test_a_conductors_state_is_kept_by_its_hash(
    home_dir: str, project_dir: str, ledger: items.Ledger
) -> None:
    """In both places where it may lie; what is kept can be had back although the file changes."""
    for folder in ("", ".claude/"):
        path = Path(project_dir, f"{folder}conductor-state.json")
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"phase": 3, "in": folder}), encoding="utf-8")

    save.save(home_dir, ledger, occasion(project_dir))
    Path(project_dir, "conductor-state.json").write_text("{}", encoding="utf-8")

    document = save.load(home_dir, SESSION)
    assert document is not None
    kept = [json.loads(read.get(home_dir, entry["key"])) for entry in document["files"]]
    assert kept == [{"phase": 3, "in": ""}, {"phase": 3, "in": ".claude/"}]
    assert f"conductor-state.json: {document['files'][0]['key']}" in Path(
        home_dir, "carry", SESSION, "checkpoint.md"
    ).read_text(encoding="utf-8")


def test_critical_files_are_kept_and_those_that_cannot_be_are_named(
    home_dir: str, project_dir: str, ledger: items.Ledger, world: Path
) -> None:
    """Present, linked, missing, a folder, too large, named twice, in the home folder."""
    Path(project_dir, "plan ü.md").write_text("the plan", encoding="utf-8")
    Path(project_dir, "link.md").symlink_to("plan ü.md")
    Path(project_dir, "folder").mkdir()
    (world / "home" / "notes.txt").write_text("home", encoding="utf-8")
    with open(f"{project_dir}/large.bin", "wb") as file:
        file.truncate((8 << 20) + 1)
    names = ("plan ü.md", "plan ü.md", "link.md", "gone.md", "folder", "large.bin", "~/notes.txt")

    save.save(home_dir, ledger, occasion(project_dir, *names))

    document = save.load(home_dir, SESSION)
    assert document is not None
    problems = {os.path.basename(one["path"]): one.get("problem") for one in document["files"]}
    assert problems == {
        "plan ü.md": None,
        "link.md": None,
        "gone.md": "No such file or directory",
        "folder": "Is a directory",
        "large.bin": "larger than 8 MB",
        "notes.txt": None,
    }
    assert len(document["files"]) == 6


def test_a_critical_file_that_the_store_does_not_hold_is_a_failed_save(
    home_dir: str,
    project_dir: str,
    ledger: items.Ledger,
) -> None:
    """A checkpoint counts only if everything it names can be read back."""
    Path(project_dir, "plan.md").write_text("the plan", encoding="utf-8")

    def write(path: str, data: bytes) -> None:
        fastio.replace_file(path, data)
        document = json.loads(data) if path.endswith(".json") else {"files": []}
        for entry in document["files"]:
            blob = layout.blob(home_dir, layout.digest_of(entry["key"]))
            Path(blob).write_bytes(b"damaged")

    with pytest.raises(StateError, match="could not be saved"):
        save.save(home_dir, ledger, occasion(project_dir, "plan.md"), write=write)


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[]", b'{"v": 99}', b"\xff\xfe", b"[" * 100_000, b"null"]
)
def test_a_damaged_checkpoint_counts_as_none(
    home_dir: str, project_dir: str, ledger: items.Ledger, damage: bytes
) -> None:
    """Torn, emptied, of another version."""
    save.save(home_dir, ledger, occasion(project_dir))
    Path(home_dir, "carry", SESSION, "checkpoint.json").write_bytes(damage)

    assert save.load(home_dir, SESSION) is None
    assert save.load(home_dir, "another") is None


def test_a_huge_ledger_and_half_an_emoji_are_saved(home_dir: str, project_dir: str) -> None:
    """Two thousand items, one of a megabyte."""
    ledger = items.Ledger(SESSION)
    for number in range(2_000):
        ledger.add(items.Item(items.FACT, f"Value {number}", items.TOOL))
    ledger.add(items.Item(items.NOTE, "x" * (1 << 20), items.TOOL))
    ledger.add(items.Item(items.NOTE, "half \ud83d of one", items.TOOL))

    path = save.save(home_dir, ledger, occasion(project_dir))

    assert "- half ? of one\n" in Path(path).read_text(encoding="utf-8")
    document = save.load(home_dir, SESSION)
    assert document is not None
    assert len(document["ledger"]["items"]) == 2_002


def test_two_that_save_at_once_leave_a_whole_one(
    home_dir: str, project_dir: str, ledger: items.Ledger
) -> None:
    """One of them may find the other's bytes and give up; what lies there is sound."""
    told: list[str] = []

    def run() -> None:
        for _ in range(20):
            try:
                save.save(home_dir, ledger, occasion(project_dir))
            except StateError as error:
                told.append(str(error))

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert all("does not hold what was written" in text for text in told)
    assert save.load(home_dir, SESSION) is not None
    assert not [n for n in os.listdir(f"{home_dir}/carry/{SESSION}") if n.endswith(".tmp")]


def test_without_a_project_nothing_is_looked_for(home_dir: str, ledger: items.Ledger) -> None:
    """An event that did not name its folder."""
    save.save(home_dir, ledger, save.Occasion("auto"))

    document = save.load(home_dir, SESSION)
    assert document is not None
    assert document["files"] == []
