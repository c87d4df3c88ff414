"""One call of a tool: whatever goes wrong is one sentence, never a traceback."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from brimline.mcp import calls
from brimline.state import logs
from brimline.store import layout, put

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_a_call_is_answered_by_its_tool(home_dir: str) -> None:
    """Both of them, and neither creates anything."""
    assert calls.answer("recall", {"query": "word"}) == (
        "[brimline recall: no output of this project is stored yet]",
        False,
    )
    text, failed = calls.answer("context_status", {})
    assert text.startswith("[brimline context_status]")
    assert not failed
    assert not os.path.exists(home_dir)


def test_wrong_arguments_and_unknown_tools_are_failures_in_one_sentence() -> None:
    """The model reads them and asks better."""
    for name, arguments in (("recall", {}), ("recall", {"key": "../x"}), ("nothing" * 99, {})):
        text, failed = calls.answer(name, arguments)

        assert failed
        assert "\n" not in text
        assert len(text) < 200


def test_a_fault_of_the_disk_is_told(home_dir: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the file that it concerns."""

    def failing(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "/data/store")

    monkeypatch.setattr("brimline.store.layout.check_format", failing)

    assert calls.answer("recall", {"query": "x"}) == ("/data/store: Permission denied", True)


def test_a_defect_is_recorded_and_told_without_its_details(
    home_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The details are for `brimline doctor`, not for the model."""

    def failing(*_: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr("brimline.store.layout.check_format", failing)

    text, failed = calls.answer("recall", {"query": "x"})

    assert failed
    assert text == "recall failed (RuntimeError): see `brimline doctor`"
    assert [entry["event"] for entry in logs.recent_failures(home_dir, 0)] == ["mcp recall"]


def test_a_project_folder_that_is_gone_is_told(world: Path) -> None:
    """It can be deleted while the server runs."""
    gone = world / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()

    text, failed = calls.answer("recall", {"query": "x"})

    assert failed
    assert text.startswith("the project's folder is not there")


def test_a_store_of_a_newer_brimline_is_left_alone(home_dir: str) -> None:
    """Its keys may mean something else."""
    key = put.put(home_dir, b"content", {})
    with open(home_dir + layout.FORMAT_FILE, "w", encoding="ascii") as file:
        file.write("99\n")

    for arguments in ({"key": key}, {"query": "content"}):
        text, failed = calls.answer("recall", arguments)
        assert failed
        assert "newer brimline" in text


def test_text_that_json_cannot_carry_is_replaced(home_dir: str, project_dir: str) -> None:
    """A command may hold bytes that are no text."""
    key = put.put(home_dir, b"content", {"source": "cat \udcff", "cwd": project_dir})

    text, failed = calls.answer("recall", {"key": key})

    assert not failed
    assert '"cat ?"' in text
