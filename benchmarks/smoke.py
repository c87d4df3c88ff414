"""Builds sdist and wheel, installs them alone in a fresh environment and uses what is there.

    python benchmarks/smoke.py

One line per step; the first failure ends it with exit code 1. brimline runs in a temporary home and
sees nothing of the user's environment; only pip does, for its index and its cache.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from typing import TYPE_CHECKING, Any

from brimline import testing

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_TIMEOUT_S = 600
_PAST_A_TIER_TOKENS = 125_000
# What was installed, each with the megabytes that its files take, the largest first.
_INSTALLED = """
import importlib.metadata as m
sizes = {}
for part in m.distributions():
    files = [part.locate_file(file) for file in part.files or ()]
    sizes[part.name] = sum(file.stat().st_size for file in files if file.is_file()) / 1e6
sizes.pop("pip", None), sizes.pop("setuptools", None)
largest = sorted(sizes.items(), key=lambda item: -item[1])
print(f"{sum(sizes.values()):.0f} MB:", ", ".join(f"{n} {size:.1f}" for n, size in largest))
"""


class SmokeError(Exception):
    """A step went wrong; the message says how."""


def main() -> int:
    """Take every step in turn."""
    with tempfile.TemporaryDirectory(prefix="brimline-smoke-") as folder:
        smoke = Smoke(os.path.realpath(folder))
        for name, step in smoke.steps().items():
            print(f"{name}: ", end="", flush=True)
            try:
                print(step())
            except (SmokeError, OSError, subprocess.SubprocessError) as error:
                print(f"FAILED. {error}")
                return 1
    return 0


class Smoke:
    """The steps, in a folder that goes away."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.project = f"{folder}/project"
        self.settings = f"{folder}/home/.claude/settings.json"
        os.makedirs(self.project)
        os.makedirs(os.path.dirname(self.settings))
        self.session = testing.SessionBuilder(f"{folder}/session.jsonl", cwd=self.project)

    def steps(self) -> dict[str, Callable[[], str]]:
        """What to do, by the name it is reported under; each returns what it found."""
        return {
            "build the sdist, and the wheel from it": self.build,
            "their contents": self.check_contents,
            "install it alone": self.install_wheel,
            "brimline --version": lambda: self.brimline("--version").strip(),
            "brimline demo": self.play_demo,
            "brimline install --yes": self.wire,
            "brimline doctor": self.consult_doctor,
            "a hook past a tier": self.cross_tier,
            "brimline status --json": self.read_status,
            "brimline uninstall --yes": self.unwire,
        }

    def build(self) -> str:
        """Make the sdist from the checkout, and the wheel from the sdist alone."""
        self._pip([sys.executable, "-m", "build", "--outdir", f"{self.folder}/dist", ROOT])
        return " ".join(sorted(os.listdir(f"{self.folder}/dist")))

    def check_contents(self) -> str:
        """The package, all of it, with its licence; in the wheel nothing else."""
        with zipfile.ZipFile(self._built(".whl")) as archive:
            names = archive.namelist()
        with tarfile.open(self._built(".tar.gz")) as archive:
            sources = [name.partition("/")[2] for name in archive.getnames()]
        problem = problem_with(names) or problem_with_sources(sources)
        if problem:
            raise SmokeError(problem)
        return f"{len(names)} files, py.typed and a licence among them, no tests"

    def install_wheel(self) -> str:
        """Install it with what it needs to run and nothing else."""
        self._pip([sys.executable, "-m", "venv", f"{self.folder}/venv"])
        self._pip([self._program("python"), "-m", "pip", "install", "--quiet", self._built(".whl")])
        return self._run([self._program("python"), "-I", "-c", _INSTALLED]).stdout.strip()

    def brimline(self, *arguments: str) -> str:
        """What the command prints; it must succeed."""
        return self._succeed([self._program("brimline"), *arguments])

    def play_demo(self) -> str:
        """The demo ends with its figures."""
        told = self.brimline("demo")
        if "messages to the model" not in told:
            raise SmokeError("it did not print its figures.")
        return "played to its end"

    def wire(self) -> str:
        """Settings appear where there were none."""
        self.brimline("install", "--yes")
        return f"hooks for {', '.join(self._hooks())}"

    def consult_doctor(self) -> str:
        """The doctor answers; without a client in reach it may well find something."""
        done = self._run([self._program("brimline"), "doctor", "--json"])
        try:
            found = json.loads(done.stdout)["findings"]
        except (ValueError, KeyError, TypeError):
            raise SmokeError(_last_line(done)) from None
        return f"exit code {done.returncode}, {len(found)} findings"

    def cross_tier(self) -> str:
        """The installed entry, run as the client runs it, tells the model about the tier."""
        self.session.tool_call(_PAST_A_TIER_TOKENS, "Bash", command="make test")
        entry = self._hooks()["PostToolUse"][0]["hooks"][0]
        event = json.dumps(testing.bash_event(self.session))
        answer = self._succeed([entry["command"], *entry["args"]], event)
        try:
            note = str(json.loads(answer)["hookSpecificOutput"]["additionalContext"])
        except (ValueError, KeyError, TypeError):
            raise SmokeError(f"it answered {answer!r}.") from None
        return note.partition(".")[0]

    def read_status(self) -> str:
        """The reading has the figure that the session was built with."""
        report = json.loads(self.brimline("status", "--json", "--session", self.session.path))
        if report["occupancy_tokens"] != _PAST_A_TIER_TOKENS:
            raise SmokeError(f"it measured {report['occupancy_tokens']} tokens.")
        return f"{report['occupancy_tokens']:,} tokens, L{report['tier']}"

    def unwire(self) -> str:
        """Settings that only we had made are gone again."""
        self.brimline("uninstall", "--yes")
        if os.path.exists(self.settings):
            raise SmokeError("the settings file is still there.")
        return "the settings are gone"

    def _hooks(self) -> dict[str, Any]:
        with open(self.settings, encoding="utf-8") as file:
            hooks: dict[str, Any] = json.load(file)["hooks"]
        return hooks

    def _built(self, ending: str) -> str:
        names = os.listdir(f"{self.folder}/dist")
        return next(f"{self.folder}/dist/{name}" for name in names if name.endswith(ending))

    def _program(self, name: str) -> str:
        return f"{self.folder}/venv/bin/{name}"

    def _pip(self, command: list[str]) -> None:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S
        )
        if done.returncode:
            raise SmokeError(_last_line(done))

    def _succeed(self, command: list[str], text: str = "") -> str:
        done = self._run(command, text)
        if done.returncode:
            raise SmokeError(_last_line(done))
        return done.stdout

    def _run(self, command: list[str], text: str = "") -> subprocess.CompletedProcess[str]:
        environment = {
            "HOME": f"{self.folder}/home",
            "PATH": "/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "CLAUDE_CONFIG_DIR": os.path.dirname(self.settings),
            "BRIMLINE_HOME": f"{self.folder}/brimline",
        }
        return subprocess.run(
            command,
            input=text,
            capture_output=True,
            text=True,
            env=environment,
            cwd=self.project,
            check=False,
            timeout=_TIMEOUT_S,
        )


def problem_with(names: list[str]) -> str | None:
    """What is missing from the files of a wheel, or should not be among them."""
    if "brimline/py.typed" not in names:
        return "py.typed is missing."
    if not any(name.endswith(".dist-info/licenses/LICENSE") for name in names):
        return "the licence is missing from the wheel."
    foreign = [name for name in names if not name.startswith(("brimline/", "brimline-"))]
    made = [name for name in names if "/__pycache__/" in name or "/test_" in name]
    extra = [*foreign, *made]
    return f"{extra[0]} does not belong there." if extra else None


def problem_with_sources(names: list[str]) -> str | None:
    """What is missing from the files of an sdist: all that `make check` and `make test` need."""
    needed = ("LICENSE", "pyproject.toml", "Makefile", "constraints.txt", "tests/conftest.py")
    missing = [name for name in needed if name not in names]
    return f"{missing[0]} is missing from the sdist." if missing else None


def _last_line(done: subprocess.CompletedProcess[str]) -> str:
    lines = (done.stderr or done.stdout).strip().splitlines()
    return lines[-1] if lines else f"Exit code {done.returncode} without a word."


if __name__ == "__main__":
    sys.exit(main())
