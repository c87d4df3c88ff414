"""Which Python runs the hooks."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from brimline.errors import InstallError
from brimline.install import interpreter

if TYPE_CHECKING:
    from pathlib import Path


def test_the_chosen_interpreter_is_a_program_of_a_supported_version() -> None:
    """Whatever the machine has, what is chosen has nothing against it."""
    chosen = interpreter.choose()

    assert os.path.isabs(chosen)
    assert interpreter.problem_with(chosen) is None


def test_an_interpreter_that_works_is_kept(python: str) -> None:
    """A second install must not change its mind."""
    assert interpreter.choose(installed=python) == python


def test_an_interpreter_that_is_gone_is_replaced(tmp_path: Path) -> None:
    """An upgrade of the system may take it away."""
    assert interpreter.choose(installed=str(tmp_path / "python3")) != str(tmp_path / "python3")


def test_the_asked_interpreter_wins_and_becomes_absolute(
    python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link to a real one is fine, in a folder of any name."""
    folder = tmp_path / "my python's é"
    folder.mkdir()
    (folder / "python").symlink_to(python)
    monkeypatch.chdir(folder)

    assert interpreter.choose("./python", "/usr/bin/python3") == str(folder / "python")


def test_a_virtual_environments_interpreter_is_no_shim() -> None:
    """It is a link to the real one and starts nothing else."""
    assert interpreter.problem_with(sys.executable) is None


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        ("nothing", "does not exist"),
        ("folder", "does not exist"),
        ("script", "shim"),
        ("text", "not executable"),
        ("other program", "does not run as a Python"),
    ],
)
def test_what_cannot_run_hooks_is_refused_with_the_reason(
    kind: str, problem: str, tmp_path: Path
) -> None:
    """The user learns why the path they named is no good."""
    path = tmp_path / "python3"
    if kind == "folder":
        path.mkdir()
    elif kind == "script":
        path.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        path.chmod(0o755)
    elif kind == "text":
        path.write_text("x")
    elif kind == "other program":
        path.symlink_to("/bin/true")

    assert problem in (interpreter.problem_with(str(path)) or "")
    with pytest.raises(InstallError, match=problem):
        interpreter.choose(str(path))


def test_an_installed_name_without_a_path_is_not_kept() -> None:
    """What the client would look up on its own PATH may be a shim there."""
    assert "not absolute" in (interpreter.problem_with("python3") or "")


def test_a_program_that_starts_another_interpreter_is_a_shim_too(
    python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Version managers ship compiled shims: the interpreter that answers is not the one asked."""
    answer = interpreter.Probe((3, 12, 1), "/opt/manager/versions/3.12/bin/python3")
    monkeypatch.setattr(interpreter, "probe", lambda _: answer)

    assert "shim" in (interpreter.problem_with(python) or "")


def test_an_old_interpreter_is_refused(python: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package does not run there."""
    monkeypatch.setattr(interpreter, "probe", lambda path: interpreter.Probe((3, 9, 1), path))

    assert "3.11 is the oldest" in (interpreter.problem_with(python) or "")


def test_without_any_interpreter_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence names the option that helps."""
    monkeypatch.setattr(interpreter, "_known", list)

    with pytest.raises(InstallError, match="--interpreter"):
        interpreter.choose()


def test_of_several_names_of_one_program_the_lasting_one_is_used(
    python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A versioned binary goes with the next upgrade, the link to it stays."""
    link = tmp_path / "python3"
    link.symlink_to(python)
    monkeypatch.setattr(interpreter, "_CANDIDATES", (str(link), str(tmp_path / "missing")))
    monkeypatch.setattr(sys, "_base_executable", python, raising=False)

    assert interpreter._known() == [str(link)]
