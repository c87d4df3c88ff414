"""The checkpoint is on the disk as it should be, or is not called saved."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from brimline import programs
from brimline.bulk import contents, layout
from brimline.carry import checkpoint, ledger
from brimline.carry.checkpoint import _LARGEST_FILE_BYTES
from brimline.errors import StateError
from brimline.fast import io

if TYPE_CHECKING:
    from collections.abc import Callable

SESSION = "11111111-2222-4333-8444-555555555555"


def save(home_dir: str, project_dir: str, **more: Any) -> dict[str, Any]:
    """A checkpoint of a session in which one thing was said."""
    record = ledger.Ledger(SESSION)
    ledger.add_message(record, "Never touch billing.", "2026-01-01T00:00:00Z", "prompt")
    about = {"trigger": "auto", "transcript": "/t.jsonl", "figures": {"occupancy": 160_000}}
    return checkpoint.build_and_save_document(
        home_dir, record, project_dir=project_dir, **about | more
    )


@pytest.mark.row("S4-22")
def test_what_cannot_be_read_back_is_not_saved(home_dir: str, project_dir: str) -> None:
    """A disk that takes bytes and loses some of them is found out; a second try may do."""
    tries: list[str] = []

    def torn(path: str, data: bytes) -> None:
        tries.append(path)
        io.replace_file(path, data[:-9] if len(tries) <= 2 else data)

    save(home_dir, project_dir, write=torn)
    assert len(tries) == 4

    def never(path: str, data: bytes) -> None:
        io.replace_file(path, data[:-9])

    with pytest.raises(StateError, match=r"checkpoint\.md does not hold what was written"):
        save(home_dir, project_dir, write=never)


def test_a_critical_file_is_kept_up_to_eight_megabytes(home_dir: str, project_dir: str) -> None:
    """One that is named twice is kept once."""
    for name, size in (("exact", _LARGEST_FILE_BYTES), ("larger", _LARGEST_FILE_BYTES + 1)):
        Path(project_dir, name).write_bytes(b"\0" * size)

    exact, larger = save(home_dir, project_dir, critical_files=["exact", "larger", "exact"])[
        "files"
    ]

    assert (exact["bytes"], bool(exact["key"])) == (_LARGEST_FILE_BYTES, True)
    assert (larger["key"], larger["problem"]) == (None, "larger than 8 MB")


@pytest.mark.row("S4-22", "S4-25")
def test_critical_files_are_kept_by_content(home_dir: str, project_dir: str) -> None:
    """A conductor's state without being asked; what is missing is said to be."""
    Path(project_dir, "conductor-state.json").write_text('{"step":3}', encoding="utf-8")

    document = save(home_dir, project_dir, critical_files=["plan.md"])
    found = document["files"]

    assert document["v"] == 2
    assert contents.read_content(home_dir, found[0]["key"]) == b'{"step":3}'
    assert (found[1]["key"], found[1]["problem"]) == (None, "No such file or directory")


@pytest.mark.parametrize("way", ["file", "folder"])
def test_no_link_leads_out_of_it(way: str, world: Path, home_dir: str, project_dir: str) -> None:
    """A repository cannot make a copy of the user's files; a link inside it is fine."""
    (world / "private").mkdir()
    (world / "private" / "conductor-state.json").write_text("secret", encoding="utf-8")
    if way == "file":
        target = world / "private" / "conductor-state.json"
        os.symlink(target, f"{project_dir}/conductor-state.json")
    else:
        os.symlink(world / "private", f"{project_dir}/.claude")
    Path(project_dir, "real.md").write_text("mine", encoding="utf-8")
    os.symlink("real.md", f"{project_dir}/plan.md")

    found = save(home_dir, project_dir, critical_files=["plan.md"])["files"]

    assert [one.get("problem") for one in found] == ["a link that leads out of the project", None]
    assert "secret" not in str(found)


def repository(folder: str, **config: str) -> Callable[..., None]:
    """A repository with one file that is committed and one that has changed since."""

    def run(*arguments: str) -> None:
        subprocess.run(["git", "-C", folder, *arguments], check=True, capture_output=True)

    Path(folder).mkdir(exist_ok=True)
    subprocess.run(["git", "init", "-q", "-b", "main", folder], check=True, capture_output=True)
    Path(folder, "a.txt").write_text("one\n", encoding="utf-8")
    run("-c", "user.name=x", "-c", "user.email=x@x", "add", "a.txt")
    run("-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "first")
    Path(folder, "a.txt").write_text("changed\n", encoding="utf-8")
    Path(folder, "new.txt").write_text("new\n", encoding="utf-8")
    for name, value in config.items():
        run("config", name.replace("__", "."), value)
    return run


@pytest.mark.parametrize("kind", ["clean", "process"])
@pytest.mark.parametrize("name", ["x", "Lfs.Two", "a=b"])
@pytest.mark.parametrize("attributes", [".gitattributes", ".git/info/attributes"])
def test_no_filter_runs_where_the_index_is_as_old_as_the_file(
    project_dir: str, world: Path, kind: str, name: str, attributes: str
) -> None:
    """Then only the content tells git whether a file was changed; an archive can be made so."""
    trap = world / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {world}/sprung\ncat\n", encoding="utf-8")
    trap.chmod(0o755)
    repository(project_dir)
    Path(project_dir, "a.txt").write_text("one\n", encoding="utf-8")
    subprocess.run(["git", "-C", project_dir, "add", "a.txt"], check=True, capture_output=True)
    Path(project_dir, attributes).write_text(f"* filter={name}\n", encoding="utf-8")
    with Path(project_dir, ".git/config").open("a", encoding="utf-8") as config:
        config.write(f'[filter "{name}"]\n\t{kind} = {trap}\n\trequired = true\n')
        # The clock moves on meanwhile, and git would tell by the time of the last change alone.
        config.write("[core]\n\ttrustctime = false\n")
    for path in ("a.txt", ".git/index"):
        os.utime(f"{project_dir}/{path}", ns=(os.stat(f"{project_dir}/a.txt").st_mtime_ns,) * 2)

    found = programs.branch_commit_and_changed_files(project_dir)

    assert not (world / "sprung").exists()
    assert (found["branch"], "new.txt" in found["dirty"]) == ("main", True)
    plain = ["git", "-C", project_dir, "diff-files", "--name-only"]
    subprocess.run(plain, check=False, capture_output=True)
    assert (world / "sprung").exists() or name == "a=b"  # the trap was one


def test_nothing_of_a_hostile_repository_is_run(project_dir: str, world: Path) -> None:
    """No filter, monitor, hook or external diff, and no bare repository inside a clone."""
    trap = world / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {world}/sprung\ncat\n", encoding="utf-8")
    trap.chmod(0o755)
    repository(
        project_dir,
        filter__x__clean=str(trap),
        filter__x__process=str(trap),
        core__fsmonitor=str(trap),
        core__hooksPath=str(world),
        diff__external=str(trap),
    )
    Path(project_dir, ".gitattributes").write_text("* filter=x diff=x\n", encoding="utf-8")
    os.symlink(trap, world / "post-index-change")
    # Of the size that is on record, so that only its content could tell whether it was changed.
    Path(project_dir, "a.txt").write_text("two\n", encoding="utf-8")
    os.utime(f"{project_dir}/a.txt", (1, 1))
    assert programs.branch_commit_and_changed_files(project_dir)["branch"] == "main"

    bare = Path(project_dir, "vendored")
    subprocess.run(["git", "init", "-q", "--bare", str(bare)], check=True, capture_output=True)
    subprocess.run(
        ["git", "-C", str(bare), "config", "core.fsmonitor", str(trap)],
        check=True,
        capture_output=True,
    )

    assert programs.branch_commit_and_changed_files(str(bare)) == {}
    assert not (world / "sprung").exists()


def test_a_checkpoint_is_told_whole_by_titles_that_have_something_below_them() -> None:
    """In the order of what is most needed; a title alone is left out."""
    record = ledger.Ledger("abc")
    document = {"session": "abc", "at": 1_790_000_000.9, "trigger": "auto", "project": "/p"}
    document |= {"transcript": None, "git": {}, "reading": {}, "files": []}
    bare = checkpoint.checkpoint_markdown(document, record)
    ledger.add_or_renew_note(record, ledger.KEEP, "Port 5433", None)
    record.tasks, record.plan = {"1": ["pending", "Ship"]}, "/plan.md"
    record.commits, record.pulls = [["1234567", "First"]], ["https://x.y/pull/1"]
    record.checks = {"a": {"command": "make", "result": "passed"}}
    record.changed, record.read = {"/a": 1}, {"/b": 1}
    record.commands = {"x": {"line": "make docs"}}
    for text in ("one line", "two\nlines", "first\n" + "x\n" * 16):
        ledger.add_message(record, text, "2026-01-01T00:00:00Z", "prompt")
    state = {"branch": "main", "head": "1234567", "dirty": ["a", "b"]}
    files = [
        {"path": "/kept", "key": "sha256:1"},
        {"path": "/lost", "key": None, "problem": "not there"},
    ]
    document |= {"git": state, "reading": {"occupancy": 12_345}, "files": files}

    assert bare == (
        "# Checkpoint of session abc\n\n- saved: 2026-09-21 14:13:20 UTC (auto)\n"
        "- project: /p\n- transcript: None\n"
    )
    sections = checkpoint.checkpoint_markdown(document, record).split("\n\n## ")
    assert sections[0].split("\n")[4:] == [
        "- transcript: None",
        "- git: main at 1234567, 2 changed files",
        "- tokens in use: 12,345",
    ]
    assert sections[1:] == [
        "Notes\n\n- keep: Port 5433",
        "Tasks\n\n- pending: Ship",
        "Plan\n\n- /plan.md",
        "Commits and pull requests\n\n- 1234567 First\n- https://x.y/pull/1",
        "Checks\n\n- `make`: passed",
        "Files changed\n\n- /a",
        "Files read\n\n- /b",
        "Commands that succeeded\n\n- `make docs`",
        (
            "Messages of the user\n\n- 2026-01-01T00:00:00Z one line\n- 2026-01-01T00:00:00Z\n"
            "  > two\n  > lines\n- 2026-01-01T00:00:00Z first [first line of 38 characters]"
        ),
        "Kept files\n\n- /kept: sha256:1\n- /lost: not there\n",
    ]


def test_a_stored_file_that_is_damaged_is_no_checkpoint(home_dir: str, project_dir: str) -> None:
    """Its content is read back as well."""
    Path(project_dir, "plan.md").write_text("the plan")
    (kept,) = save(home_dir, project_dir, critical_files=["plan.md"])["files"]
    assert contents.read_content(home_dir, kept["key"]) == b"the plan"
    assert contents.read_sidecar(home_dir, kept["key"])["tool"] == "checkpoint"
    assert (kept["path"], kept["bytes"]) == (f"{project_dir}/plan.md", 8)

    def damage(path: str, data: bytes) -> None:
        io.replace_file(path, data)
        Path(layout.stored_path(home_dir, layout.digest_of_key(kept["key"]))).write_bytes(
            b"another"
        )

    with pytest.raises(StateError, match=r"the checkpoint in .* could not be saved"):
        save(home_dir, project_dir, critical_files=["plan.md"], write=damage)
