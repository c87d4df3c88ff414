"""Which Python runs the hooks and which the command, and what is compiled for the first."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from brimline.errors import InstallError
from brimline.fast import paths
from brimline.install import client, pythons
from brimline.install.pythons import Program

from . import fake_claude

if TYPE_CHECKING:
    from pathlib import Path

REAL_PROGRAM = pythons.program_of_this_process


def test_a_named_interpreter_must_be_usable(
    python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each refusal says why; a link to a real binary is fine."""
    shim, odd = tmp_path / "shim", tmp_path / "odd"
    shim.write_text(f'#!/bin/sh\nexec {shlex.quote(python)} "$@"\n')
    shim.chmod(0o755)
    odd.write_bytes(b"\x7fELF not really")
    problems = {"relative": "absolute", str(tmp_path): "does not exist", str(shim): "shim"}
    problems |= {str(odd): "does not run"}
    for path, said in problems.items():
        assert said in (pythons.why_interpreter_unusable(path) or ""), path
    with pytest.raises(InstallError, match="cannot run the hooks: it is a shim"):
        pythons.choose_interpreter(str(shim))
    link = tmp_path / "python3"
    link.symlink_to(python)

    assert pythons.choose_interpreter(str(link)) == str(link)
    monkeypatch.setattr(pythons, "version_and_path_of_interpreter", lambda path: ((3, 10, 9), path))
    assert "3.10.9, and 3.11" in (pythons.why_interpreter_unusable(python) or "")


def test_an_earlier_choice_is_kept_while_it_works(
    python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the first that can be used, a binary of the system before the one that runs now."""
    link = tmp_path / "python3"
    link.symlink_to(python)
    assert pythons.choose_interpreter(None, str(link)) == str(link)
    monkeypatch.setattr(pythons, "_CANDIDATES", (str(tmp_path / "none"), str(link)))
    assert pythons.choose_interpreter(None, "/gone/python3") == str(link)
    monkeypatch.setattr(pythons, "_CANDIDATES", ())
    assert os.path.realpath(pythons.choose_interpreter()) == python
    monkeypatch.setattr(pythons, "why_interpreter_unusable", lambda _: "none is good")
    with pytest.raises(InstallError, match="--interpreter"):
        pythons.choose_interpreter()


def test_the_command_starts_as_this_process_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever folder it is run in: a stranger's is not on the path."""
    (tmp_path / "brimline.py").write_text("raise SystemExit('a stranger')")
    found = REAL_PROGRAM(str(tmp_path))

    done = subprocess.run(
        [found.interpreter, *found.options, "--version"],
        cwd=tmp_path,
        capture_output=True,
        check=True,
    )
    assert done.stdout.startswith(b"brimline")
    assert found.home == str(tmp_path)
    assert REAL_PROGRAM(f"{paths.client_config_dir()}/brimline").home is None
    # What is installed for the user alone, an isolated interpreter would not find.
    monkeypatch.setattr("site.getusersitepackages", lambda: "/")
    told = REAL_PROGRAM(str(tmp_path)).options
    start = [found.interpreter, *told, "--version"]
    done = subprocess.run(start, cwd=tmp_path, capture_output=True, check=True)
    assert told[0] == "-I"
    assert done.stdout.startswith(b"brimline")


def test_a_line_is_offered_only_where_the_client_can_check_it() -> None:
    """Nothing that a shell would act on."""
    plain = Program("/v/bin/python", ("-I", "-m", "brimline"), "/data dir")

    assert (
        plain.shell_line("status")
        == "env 'BRIMLINE_HOME=/data dir' /v/bin/python -I -m brimline status"
    )
    assert plain._replace(home=None).shell_line() == "/v/bin/python -I -m brimline"
    assert plain._replace(interpreter="/a(b)/python").shell_line("status") is None


def test_a_client_that_does_not_do_it_is_told(no_client: Path) -> None:
    """A grandchild that keeps the output open does not make us wait."""
    assert client.run_client_or_problem(["mcp"]) == "there is no `claude` on PATH"
    for script, said in (
        ("#!/gone/interpreter\n", "No such file or directory"),
        ("#!/bin/sh\nexit 7\n", "it ended with code 7"),
        ("#!/bin/sh\nsleep 20 &\nwait\n", "it did not end within 1 seconds"),
    ):
        fake_claude.script(no_client, script)
        assert client.run_client_or_problem(["mcp"], timeout_s=1) == said


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ((3, 10, 99), "it is Python 3.10.99, and 3.11 is the oldest supported"),
        ((3, 11, 0), None),
        ((3, 12, 0), None),
        ((4, 0, 0), None),
        ((2, 99, 0), "it is Python 2.99.0, and 3.11 is the oldest supported"),
    ],
)
def test_hooks_take_python_3_11_and_newer(
    version: tuple[int, ...], said: str | None, python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its version, whatever comes behind the second number."""
    monkeypatch.setattr(pythons, "version_and_path_of_interpreter", lambda path: (version, path))

    assert pythons.why_interpreter_unusable(python) == said


@pytest.mark.parametrize(
    ("told", "found"),
    [
        ("3 11 4 /a b/python", ((3, 11, 4), "/a b/python")),
        ("3 11 4", None),
        ("three 11 4 /python", None),
        ("", None),
    ],
)
def test_an_interpreter_tells_its_version_and_its_path(
    told: str, found: tuple[tuple[int, ...], str] | None, tmp_path: Path
) -> None:
    """One that says anything else is none."""
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\necho '{told}'\n")
    program.chmod(0o755)

    assert pythons.version_and_path_of_interpreter(str(program)) == found


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo first >&2; echo last >&2; echo '  ' >&2; exit 1", "last"),
        ("exit 1", "it does not start"),
        ("echo odd >&2; exit 0", None),
    ],
)
def test_why_code_does_not_run_is_the_last_line_that_it_said(
    script: str, said: str | None, tmp_path: Path
) -> None:
    """Blank lines aside; what ends well has no problem, whatever it said."""
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    told = said and f"cannot precompile /r/brimline with {program}: {said}"

    assert pythons.precompile_or_problem(str(program), "/r") == told
    assert pythons.is_precompiled(str(program), "/r") is (said is None)
    assert pythons.can_interpreter_import_hooks(str(program), "/r") is (said is None)


def test_an_interpreter_is_asked_again_once_it_changed_or_failed(tmp_path: Path) -> None:
    """Each question is a process; a file that stays the same answers the same."""
    program, count = tmp_path / "python", tmp_path / "count"

    def install(version: str, changed_ns: int) -> None:
        program.write_text(f"#!/bin/sh\necho asked >> {count}\necho '{version}'\n")
        program.chmod(0o755)
        os.utime(program, ns=(changed_ns, changed_ns))

    def ask() -> tuple[tuple[tuple[int, ...], str] | None, int]:
        found = pythons.version_and_path_of_interpreter(str(program))
        return found, len(count.read_text().splitlines())

    install("3 11 7 /a", 1)
    assert (ask(), ask()) == ((((3, 11, 7), "/a"), 1), (((3, 11, 7), "/a"), 1))
    install("3 12 1 /a", 2)
    assert ask() == (((3, 12, 1), "/a"), 2)
    install("no Python", 3)
    assert (ask(), ask()) == ((None, 3), (None, 4))
