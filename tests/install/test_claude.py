"""Running the client's own command, whatever it does."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

import pytest

from brimline.install import claude

from .fake_claude import script

if TYPE_CHECKING:
    from pathlib import Path


def test_without_the_client_the_reason_says_so() -> None:
    """Nothing is started."""
    assert claude.on_path() is None
    assert claude.run(["mcp", "list"]) == "there is no `claude` on PATH"


def test_what_it_is_asked_for_is_done_away_from_any_project(
    no_client: Path, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It gets the user's environment, in the client's own folder, without input."""
    told = world / "told.json"
    code = (
        "import json,os,sys;"
        "json.dump([sys.argv[1:],os.getcwd(),sys.stdin.read(),dict(os.environ)],"
        f"open({str(told)!r},'w'))"
    )
    script(no_client, f"#!{sys.executable}\n{code}\n")
    (world / "home" / ".claude").mkdir()
    monkeypatch.setenv("MY_PROXY", "kept")

    assert claude.run(["plugin", "install", "a b"]) is None

    arguments, folder, given, env = json.loads(told.read_bytes())
    assert (arguments, given) == (["plugin", "install", "a b"], "")
    assert folder == str(world / "home" / ".claude")
    assert (env["MY_PROXY"], env["DISABLE_AUTOUPDATER"]) == ("kept", "1")
    assert env["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] == "1"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("#!/bin/sh\necho first; echo 'the \033[31mlast' >&2; exit 3\n", "the [31mlast"),
        ("#!/bin/sh\nexit 3\n", "it ended with code 3"),
        ("#!/bin/sh\nprintf '\\377%0500d'; exit 1\n", "\ufffd" + 199 * "0"),
        ("#!/nowhere/sh\n", "No such file or directory"),
        ("\0\0\0\0", "Exec format error"),
    ],
)
def test_a_failure_is_told_in_its_own_last_words(text: str, reason: str, no_client: Path) -> None:
    """Short, and without what would steer a terminal."""
    script(no_client, text)

    assert claude.run([]) == reason


def test_one_that_hangs_is_ended_with_all_that_it_started(no_client: Path, world: Path) -> None:
    """Also a grandchild that keeps its output open: the pipe that it holds ends with it."""
    pipe = str(world / "pipe")
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    script(no_client, f"#!/bin/sh\nexec 3> {pipe}\nsleep 600 &\nwait\n")

    assert claude.run(["mcp", "list"], timeout_s=1.5) == "it did not end within 1.5 seconds"

    os.set_blocking(reader, True)
    assert os.read(reader, 1) == b""
    os.close(reader)


def test_a_command_is_spelled_as_a_person_types_it() -> None:
    """Quoted where a shell needs it."""
    assert claude.line(["mcp", "add", "a b"]) == "claude mcp add 'a b'"
