"""How long an instruction file has been left alone while the code around it moved, by git.

Only plumbing commands are run, and nothing that a repository's configuration could turn into a
program or a network call.
"""

from __future__ import annotations

import os
import subprocess
from typing import NamedTuple

from brimline.rules import places

_TIMEOUT_S = 10
_SECONDS_PER_DAY = 86_400
_SAFE = ("-c", "core.fsmonitor=false", "-c", "protocol.allow=never", "-c", "core.hooksPath=")


class Age(NamedTuple):
    """A file's last commit, and what its folder has seen since."""

    days: int
    commits_since: int


class History:
    """The history around one project; says why where there is none."""

    def __init__(self, folder: str, program: str = "git") -> None:
        self._program = program
        self.problem: str | None = None
        head = self._ask(folder, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        if head is None:
            self.problem = self.problem or f"{folder} is in no git repository with a commit"

    def age(self, path: str, now: float) -> Age | None:
        """How old a file is; None where that is not known, as for files outside the repository."""
        if self.problem:
            return None
        folder, name = os.path.split(os.path.realpath(path))
        last = self._ask(folder, "rev-list", "-1", "--timestamp", "HEAD", "--", name)
        if not last:
            return None
        moment, _, commit = last.partition(" ")
        since = self._ask(
            places.governed_folder(folder), "rev-list", "--count", f"{commit}..HEAD", "--", "."
        )
        if not moment.isdigit() or not since or not since.isdigit():
            return None
        return Age(max(0, int((now - int(moment)) // _SECONDS_PER_DAY)), int(since))

    def _ask(self, folder: str, *arguments: str) -> str | None:
        """The answer on one line; None where git refuses, and a problem where it is not there."""
        try:
            done = subprocess.run(
                [self._program, *_SAFE, "--no-optional-locks", "-C", folder, *arguments],
                env=_environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                check=False,
                timeout=_TIMEOUT_S,
            )
        except FileNotFoundError:
            self.problem = "git is not installed"
            return None
        except (OSError, subprocess.SubprocessError) as error:
            self.problem = f"git could not be asked: {error}"
            return None
        text = done.stdout.decode("utf-8", "replace").strip()
        return text.partition("\n")[0] if done.returncode == 0 else None


def _environment() -> dict[str, str]:
    """The user's environment without what would point git elsewhere, and without a network."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {**kept, "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
