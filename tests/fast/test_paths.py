"""Where things live: through the environment, below the user's home, never by foreign text."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brimline.fast import paths
from brimline.fast.paths import _MOST_LINKS, _SESSION_LENGTH
from brimline.install.pythons import package_root

ROOT = package_root()


def test_the_data_folder_has_two_sources(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable wins over the client's folder."""
    assert paths.data_dir() == str(world / "brimline")

    monkeypatch.delenv("BRIMLINE_HOME")
    assert paths.data_dir() == str(world / "home" / ".claude" / "brimline")

    monkeypatch.delenv("CLAUDE_CONFIG_DIR")
    monkeypatch.setenv("HOME", "/home/dev/")
    assert paths.client_config_dir().replace("//", "/") == "/home/dev/.claude"


@pytest.mark.parametrize("client", ["/told/config", ""])
@pytest.mark.parametrize("loaded", ["", "import os;"])
def test_what_was_written_down_takes_the_place_of_the_environment(client: str, loaded: str) -> None:
    """For this process and those that it starts, whether or not `os` is loaded already."""
    code = (
        f"import sys;{loaded}sys.path.insert(0,{ROOT!r});from brimline.fast import paths;"
        f"paths.pin('/told/data',{client!r},'/told');import os;"
        "print(*paths.folders_to_pin(),paths.normalised_path('~/x','/'),sep='|',flush=True);"
        "os.execv('/usr/bin/env',['env'])"
    )
    planted = dict.fromkeys(
        ("BRIMLINE_HOME", "CLAUDE_CONFIG_DIR", "HOME", "SQLITE_TMPDIR"), "/planted"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], env=planted, capture_output=True, check=True
    )

    first, *rest = done.stdout.decode().split()
    assert first == f"/told/data|{client}|/told|/told/x"
    told = {"BRIMLINE_HOME=/told/data", "HOME=/told"}
    assert set(rest) - {"LC_CTYPE=C.UTF-8"} == told | (
        {f"CLAUDE_CONFIG_DIR={client}"} - {"CLAUDE_CONFIG_DIR="}
    )


@pytest.mark.parametrize("named", ["data/", "~/data", "data"])
def test_a_relative_data_folder_is_below_the_users_home(
    named: str, project_dir: str, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not below the current one, as for the client: each session would keep its data elsewhere."""
    monkeypatch.setenv("BRIMLINE_HOME", named)

    assert paths.data_dir() == str(world / "home" / "data")
    folder = paths.project_transcripts_dir("/home/dev/my.project_1")
    assert folder == f"{world}/home/.claude/projects/-home-dev-my-project-1"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "config/")
    assert paths.client_config_dir() == f"{project_dir}/config"


def test_a_path_leads_to_its_file_through_every_link(world: Path) -> None:
    """Links to files and folders, relative and absolute, chains of them, and `..` behind one."""
    base = world.resolve() / "linked"
    (base / "far" / "away").mkdir(parents=True)
    file = base / "far" / "away" / "a.txt"
    file.touch()
    (base / "folder").symlink_to("far/away")
    (base / "one.txt").symlink_to(file)
    (base / "two.txt").symlink_to("./one.txt")
    (base / "far" / "up").symlink_to("../folder/../away")
    names = ["far/away/a.txt", "folder/a.txt", "one.txt", "./x/../two.txt", "far/up/a.txt"]

    assert {paths.resolve_links(name, str(base)) for name in names} == {str(file)}
    assert paths.resolve_links(str(base / "two.txt"), "/elsewhere") == str(file)


def test_a_path_that_leads_nowhere_stays_a_path(world: Path) -> None:
    """No file, links in a circle, a file in the place of a folder, a byte that no path may hold."""
    base = str(world.resolve())
    Path(base, "a").symlink_to("b")
    Path(base, "b").symlink_to("a")
    Path(base, "file").touch()

    assert paths.resolve_links("none/x.txt", base) == f"{base}/none/x.txt"
    assert paths.resolve_links("file/x", base) == f"{base}/file/x"
    assert paths.resolve_links("/x\0y", base) == "/x\0y"
    assert paths.resolve_links("a/x", base).startswith(base)
    assert paths.resolve_links("/", base) == "/"


@given(session_id=st.text(max_size=300) | st.integers() | st.none() | st.lists(st.text()))
@settings(max_examples=200)
@pytest.mark.row("S0-18", "S4-45")
def test_a_session_id_never_leaves_its_folder(session_id: object) -> None:
    """Whatever the id, one harmless name comes out; the client's own need no change."""
    real = "2d4c8bed-d4f9-4c98-a552-f363852b3c3b"
    assert paths.safe_session_id(real) == real
    assert paths.safe_session_id("../../") == "nosession"
    folder = Path(paths.session_dir("/data", session_id))

    assert folder.parent == Path("/data/sessions")
    assert 0 < len(folder.name) <= _SESSION_LENGTH
    assert not set(folder.name) & set("./\\ \0~")


@pytest.mark.parametrize(
    ("links", "end"), [(1, "file"), (_MOST_LINKS, "file"), (_MOST_LINKS + 1, f"link-{_MOST_LINKS}")]
)
def test_as_many_links_are_followed_as_the_system_does(world: Path, links: int, end: str) -> None:
    """Forty; the next one is taken for what is meant, so that a circle has an end."""
    folder = world / "chain"
    folder.mkdir()
    for number in range(links):
        last = number == links - 1
        (folder / f"link-{number}").symlink_to("file" if last else f"link-{number + 1}")

    assert paths.resolve_links(f"{folder}/link-0", "/") == f"{folder.resolve()}/{end}"


@pytest.mark.parametrize(
    ("session_id", "name"),
    [
        ("x" * _SESSION_LENGTH, "x" * _SESSION_LENGTH),
        ("x" * (_SESSION_LENGTH + 1), "x" * _SESSION_LENGTH),
        ("." * _SESSION_LENGTH + "x", "nosession"),
        ("." * (_SESSION_LENGTH - 1) + "x", "x"),
        ("aZ09_-", "aZ09_-"),
        ("a/../b c\n", "abc"),
        ("", "nosession"),
        (None, "nosession"),
        (5, "nosession"),
    ],
)
def test_of_a_session_id_so_many_characters_count(session_id: object, name: str) -> None:
    """Those that are plain."""
    assert paths.safe_session_id(session_id) == name
    assert paths.session_dir("/h", session_id) == f"/h/sessions/{name}"
    assert paths.carry_session_dir("/h", session_id) == f"/h/carry/{name}"


@pytest.mark.parametrize(
    ("path", "digits"),
    [
        ("", "0" * 24),
        ("/a", "000000000000000000002f61"),
        ("/home/dev/a-project/src/main.py", "008b2305c1c27477ecb943ee"),
    ],
)
def test_a_fingerprint_stays_what_it_was(path: str, digits: str) -> None:
    """Files are found again by it, by every version."""
    assert paths.path_fingerprint(path) == digits


def test_files_lie_where_they_always_did() -> None:
    """Below the data folder, or in the project."""
    found = {
        paths.user_config("/h"): "/h/config.toml",
        paths.error_log("/h"): "/h/errors.jsonl",
        paths.audit_log("/h"): "/h/audit.jsonl",
        paths.learned_file("/h"): "/h/learned.json",
        paths.command_file("/h"): "/h/command",
        paths.stand_ins_database("/h"): "/h/gateway/stand-ins.sqlite3",
        paths.sessions_dir("/h"): "/h/sessions",
        paths.carry_dir("/h"): "/h/carry",
    }

    assert list(found) == list(found.values())
    assert paths.conductor_state_paths("/p") == (
        "/p/conductor-state.json",
        "/p/.claude/conductor-state.json",
    )


@pytest.mark.parametrize(
    ("project", "name"),
    [
        ("/p/a_b.c", "-p-a-b-c"),
        ("/p/ä", "-p--"),
        ("/p/\uffff", "-p--"),
        ("/p/\U00010000", "-p---"),
        ("/p/🪟x", "-p---x"),
    ],
)
def test_a_project_has_the_folder_that_the_client_gives_it(project: str, name: str) -> None:
    """What is not a plain letter is a dash, what is rare two of them."""
    assert paths.project_transcripts_dir(project).endswith(f"/projects/{name}")


def test_without_a_variable_the_home_is_that_of_the_account(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As the system knows it."""
    monkeypatch.delenv("HOME")

    assert paths.normalised_path("~/a", "/") == f"{pwd.getpwuid(os.getuid()).pw_dir}/a"
