"""Every test runs in a world of its own: no test can touch the user's home or real settings."""

from __future__ import annotations

import gc
import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from tests.guard.dialogue import Talk

from brimline.recall import database
from brimline.settings import clientsettings, pinned
from brimline.testing import SessionBuilder

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

# On a busy machine no example is too slow; each makes what it needs anew in the test's world.
_UNHURRIED = (HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large)
settings.register_profile(
    "unhurried", deadline=None, database=None, suppress_health_check=_UNHURRIED
)
settings.load_profile("unhurried")


def pytest_sessionstart() -> None:
    """Refuse to run where commands would use somebody's real data folder, as a client's do."""
    if "CLAUDECODE" in os.environ and pinned.read():
        pytest.exit(f"run the tests outside of Claude Code, or remove {pinned.FILE}", 1)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say once why client, server or browser were not driven; `-rs` says it already."""
    if terminalreporter.hasopt("skipped"):
        return
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = {str(r.longrepr[2]) for r in skipped if isinstance(r.longrepr, tuple)}
    for reason in sorted(r for r in reasons if "suite not run" in r):
        terminalreporter.write_line(reason)


@pytest.fixture(autouse=True)
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Point every home into a temporary folder; drop inherited settings, the machine's included."""
    for name in list(os.environ):
        if name.startswith(("CLAUDE", "ANTHROPIC", "BRIMLINE")):
            if name.startswith("BRIMLINE_CLIENT_"):
                continue
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "home" / ".claude"))
    monkeypatch.setenv("BRIMLINE_HOME", str(tmp_path / "brimline"))
    monkeypatch.setattr(clientsettings, "_MANAGED", str(tmp_path / "managed"))
    monkeypatch.setattr(pinned, "FILE", str(tmp_path / "installed.json"))
    # What one process says once; every test is one to itself.
    monkeypatch.setattr(database, "renewed", [])
    project = tmp_path / "project"
    project.mkdir()
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(project)
    return tmp_path


@pytest.fixture(scope="module", autouse=True)
def _nothing_left_open() -> Iterator[None]:
    """A file, socket or database that a test leaves open fails its own module, not another's."""
    yield
    gc.collect()


@pytest.fixture
def home_dir(world: Path) -> str:
    """brimline's data folder of this test; not created yet."""
    return str(world / "brimline")


@pytest.fixture
def project_dir(world: Path) -> str:
    """The project of this test, which is also the current folder."""
    return str(world / "project")


@pytest.fixture
def session(world: Path, project_dir: str) -> SessionBuilder:
    """An empty session whose rows the test writes."""
    return SessionBuilder(str(world / "session.jsonl"), cwd=project_dir)


@pytest.fixture
def talk(session: SessionBuilder, home_dir: str, monkeypatch: pytest.MonkeyPatch) -> Talk:
    """That session, talking to brimline."""
    return Talk(session, home_dir, monkeypatch)


@pytest.fixture
def processes() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes that do not outlive the test."""
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for process in started:
        process.kill()
        process.communicate()
