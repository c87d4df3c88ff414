"""Machines of different people, in one process: each with a home and a clone of a project."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.recall.worlds import recorded

from brimline.fast import paths
from brimline.recall import confirmation, place
from brimline.testing import text_block

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from tests.cli.conftest import Outcome, Run

SESSIONS = {
    "anna": "0a1b2c3d-0000-4000-8000-00000000000a",
    "ben": "0a1b2c3d-0000-4000-8000-00000000000b",
}


class Homes:
    """Where anna and ben work."""

    def __init__(self, world: Path, monkeypatch: pytest.MonkeyPatch, brimline: Run) -> None:
        self._world, self._patch, self._brimline = world, monkeypatch, brimline

    def enter(self, name: str) -> str:
        """Be that person from now on; the folder of their clone."""
        home = self._world / name
        project = home / "src" / "importer"
        project.mkdir(parents=True, exist_ok=True)
        self._patch.setenv("HOME", str(home))
        self._patch.setenv("CLAUDE_CONFIG_DIR", str(home / ".claude"))
        self._patch.setenv("BRIMLINE_HOME", str(home / "brimline"))
        self._patch.chdir(project)
        return str(project)

    def join(self, name: str, url: str) -> str:
        """Be that person, and name the team's server as one that was confirmed."""
        project = self.enter(name)
        assert self("config", "set", "memory.url", url).code == 0
        confirmation.keep(paths.data_dir(), place.parse_place(url))
        return project

    def say(self, name: str, *said: str) -> str:
        """A session in which that person said something and was answered; its id."""
        project = self.enter(name)
        session = recorded(project, SESSIONS[name])
        for text in said:
            session.prompt(text)
            session.reply(5_000, text_block("Noted."))
        return SESSIONS[name]

    def find(self, query: str, *more: str) -> list[dict[str, Any]]:
        """The hits of a search."""
        hits: list[dict[str, Any]]
        hits = self("memory", "search", query, "--json", *more).document["hits"]
        return hits

    def sync(self, *more: str) -> dict[str, int]:
        """Send what is new."""
        done: dict[str, int] = self("memory", "sync", "--json", *more).document
        return done

    def __call__(self, *arguments: str) -> Outcome:
        """The command, as the person at hand would run it."""
        return self._brimline(*arguments)
