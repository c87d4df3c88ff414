"""brimline as a plugin, published in a repository that the client takes for GitHub's."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .harness import Client

ROOT = Path(__file__).parents[2]
RECALL = "mcp__plugin_brimline_brimline__recall"
ID = "brimline@brimline-plugin"
REPOSITORY = "OWNER/brimline"


class Plugin:
    """A client without brimline, and a repository that holds the plugin."""

    def __init__(self, client: Client, folder: Path) -> None:
        self.client = client
        self.checkout, self.bare = folder / "checkout", folder / "gh" / f"{REPOSITORY}.git"
        left_out = shutil.ignore_patterns("__pycache__", "words.bin")
        for part in (".claude-plugin", "plugin", "idle", "src/brimline"):
            shutil.copytree(ROOT / part, self.checkout / part, symlinks=True, ignore=left_out)
        shutil.copy(ROOT / "LICENSE", self.checkout)
        rules = [f"insteadOf = {place}" for place in ("https://github.com/", "git@github.com:")]
        (client.home / ".gitconfig").write_text(
            "\n".join(
                [
                    *(f'[url "file://{folder}/gh/"]', *rules),
                    *('[protocol "file"]', "allow = always", "[user]", "name = a", "email = a@b"),
                ]
            )
        )

    def publish(self) -> None:
        """Commit what is checked out, to where the client takes it from."""
        self.bare.parent.mkdir(parents=True, exist_ok=True)
        for command in ("init -q", "add -A", "commit -qm x", f"push -q {self.bare} HEAD:main"):
            if command.startswith("push") and not self.bare.exists():
                self._run("git", "init", "-q", "--bare", "-b", "main", str(self.bare))
            self._run("git", "-C", str(self.checkout), *command.split())

    def install(self) -> None:
        """Do what a user types."""
        self.publish()
        self.claude("plugin", "marketplace", "add", REPOSITORY)
        self.claude("plugin", "install", ID)

    def claude(self, *arguments: str) -> str:
        """What the client's command says."""
        return self._run(str(self.client.binary), *arguments)

    def enabled(self) -> dict[str, bool]:
        """The plugins that the user's settings name."""
        found: dict[str, dict[str, bool]] = json.loads(self.client.settings_path().read_bytes())
        return found.get("enabledPlugins", {})

    def _run(self, *command: str) -> str:
        done = subprocess.run(
            command,
            cwd=self.client.project,
            env=self.client.env(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.decode()

    @property
    def start(self) -> Path:
        """The launcher in the checkout."""
        return self.checkout / "plugin" / "hooks" / "start"

    def answer_of(self, command: str) -> str:
        """What a command of the mod answers, without a model request."""
        run = self.client.run_print(command)
        assert run.requests == []
        return str(run.result and run.result["result"])
