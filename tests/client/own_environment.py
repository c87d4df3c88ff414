"""brimline in a Python environment of its own, with the real client on PATH, as users have it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .brimline_home import Installed

if TYPE_CHECKING:
    from .harness import Client


class OwnEnvironment(Installed):
    """A copy of the package that `python -I -m brimline` finds, and `claude` on PATH."""

    def __init__(self, client: Client) -> None:
        """Make the environment; the libraries are those of the tests' own."""
        super().__init__(client)
        root = client.home.parent
        self.bin = root / "bin"
        self.bin.mkdir()
        (self.bin / "claude").symlink_to(client.binary)
        environment = root / "env"
        subprocess.run(
            [sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True
        )
        (packages,) = environment.glob("lib/python*/site-packages")
        libraries = Path(click.__file__).parents[1]
        (packages / "brimline.pth").write_text(f"{self.root}\n{libraries}\n", encoding="utf-8")
        self.python = environment / "bin" / "python"
        self.program = [str(self.python), "-I", "-m", "brimline"]
        self.env = {"PATH": f"{self.bin}:/usr/bin:/bin"}

    def report(self, *arguments: str) -> dict[str, Any]:
        """A command's report as JSON."""
        done = self.command(*arguments, "--json")
        assert done.returncode == 0, done.stderr.decode()
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def claude(self, *arguments: str) -> str:
        """Run the client's own command; returns what it printed."""
        done = subprocess.run(
            [self.client.binary, *arguments],
            cwd=self.client.project,
            env=self.client.env(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout
