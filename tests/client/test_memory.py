"""Memory in the real client: the index is in the first request of every session."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from .stub_api import text

if TYPE_CHECKING:
    from .brimline_home import Installed
    from .harness import Client
    from .stub_api import StubApi

ABOUT = "How the zeppelin is deployed"


def add(installed: Installed, name: str) -> str:
    """Write a topic with the command; its path."""
    done = installed.command("memory", "add", name, "--type", "project", "--description",
                             f"{ABOUT}, {name}", f"Text of {name}.")  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()


@pytest.mark.row("S4-04", "S4-07", "S4-09", "S4-28", "S4-40")
def test_the_index_is_in_the_first_request_of_every_session(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """By the client itself, once; also with the search gone or broken."""
    add(installed, "first")
    for broken in (False, True):
        if broken:
            for path in (installed.data / "search").glob("*"):
                path.write_bytes(b"broken" * 1_000)
        stub.script(text("ok"))
        seen = client.run_print("hello").requests[0].seen_text()
        assert seen.count(f"{ABOUT}, first") == 1


@pytest.mark.row("S4-04")
def test_a_client_without_memory_gets_the_index_from_us(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """Switched off by a variable or a setting; cut with a mark where it is too long."""
    folder = re.sub(r"/first\.md$", "", add(installed, "first"))
    off = {"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1"}
    stub.script(text("ok"))
    seen = client.run_print("hello", env=off).requests[0].seen_text()
    assert seen.count(f"{ABOUT}, first") == 1
    assert "[brimline] Memory of this project" in seen

    with open(f"{folder}/MEMORY.md", "a", encoding="utf-8") as index:
        index.writelines(f"- [T{n}](t{n}.md) — {'more ' * 20}\n" for n in range(180))
    stub.script(text("ok"))
    seen = client.run_print("hello", env=off).requests[0].seen_text()
    assert "[T20]" in seen
    assert "[T179]" not in seen
    assert "[truncated]" in seen


def test_a_worktree_shares_the_memory_of_its_repository(
    client: Client, stub: StubApi, installed: Installed
) -> None:
    """As the command, so the client: a folder inside of the repository has the same one."""
    import subprocess

    subprocess.run(["git", "init", "-q", str(client.project)], check=True)
    add(installed, "first")
    inner = client.project / "src"
    inner.mkdir()
    client.project = inner
    stub.script(text("ok"))
    assert f"{ABOUT}, first" in client.run_print("hello").requests[0].seen_text()
