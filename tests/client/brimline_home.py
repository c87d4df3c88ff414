"""Installs brimline into a test client's home, through its own command, as a user would."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import brimline

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .harness import Client

_RUN = "import sys; sys.path.insert(0, {root!r}); from brimline.cli.main import main; main()"


class Installed:
    """brimline as one client's user has it: a copy of the package, a data folder, the command."""

    def __init__(self, client: Client) -> None:
        """Copy the package, so that a test may break it."""
        self.client = client
        self.root = client.home.parent / "site"
        self.data = client.config / "brimline"
        source = Path(brimline.__file__).parent
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source, self.root / "brimline", ignore=ignored)
        self.program = [sys.executable, "-c", _RUN.format(root=str(self.root))]
        self.env: dict[str, str] = {}

    def command(
        self, *arguments: str, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        """Run the `brimline` command in the client's home."""
        return subprocess.run(
            [*self.program, *arguments],
            cwd=self.client.project,
            env=self.client.env(self.env | dict(env or {})),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=120,
        )

    def install(self, *arguments: str) -> None:
        """`brimline install --yes`."""
        done = self.command("install", "--yes", *arguments)
        assert done.returncode == 0, done.stderr.decode()

    def status(self, session_id: str) -> dict[str, Any]:
        """`brimline status --json` of one session."""
        done = self.command("status", "--session", session_id, "--json")
        assert done.returncode == 0, done.stderr.decode()
        report: dict[str, Any] = json.loads(done.stdout)
        return report

    def spool(self, session_id: str) -> list[dict[str, Any]]:
        """The events that hooks recorded."""
        path = self.data / "sessions" / session_id / "spool.jsonl"
        if not path.exists():
            return []
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]

    def events(self, session_id: str) -> list[str]:
        """Their names only."""
        return [line["event"] for line in self.spool(session_id)]

    def audit(self) -> list[dict[str, Any]]:
        """The audit trail."""
        lines = (self.data / "audit.jsonl").read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]

    def errors(self) -> str:
        """The error log."""
        path = self.data / "errors.jsonl"
        return path.read_text(encoding="utf-8") if path.exists() else ""
