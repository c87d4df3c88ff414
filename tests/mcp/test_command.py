"""The command `brimline mcp`: help, and a clear word where the SDK is missing or too old."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from brimline.errors import BrimlineError
from brimline.mcp import command

if TYPE_CHECKING:
    from pathlib import Path

# What `brimline.cli.main` does around a command.
RUN = """
import sys
sys.path.insert(0, sys.argv[1])
from brimline.errors import BrimlineError
from brimline.mcp.command import mcp
try:
    mcp([])
except BrimlineError as error:
    sys.exit(f"brimline: {error}")
"""


def test_the_help_needs_no_sdk() -> None:
    """It shows how to register the server."""
    done = CliRunner().invoke(command.mcp, ["--help"])

    assert done.exit_code == 0
    assert "claude mcp add" in done.output


@pytest.mark.parametrize(
    "package",
    [
        {"mcp/__init__.py": "raise ModuleNotFoundError('No module named mcp', name='mcp')"},
        {
            "mcp/__init__.py": "",
            "mcp/types.py": "class Tool: ...",
            "mcp/server/__init__.py": "class Server: ...",
            "mcp/server/stdio.py": "def stdio_server(): ...",
        },
    ],
    ids=["none", "version 1"],
)
def test_without_the_sdk_one_sentence_says_how_to_get_it(
    world: Path, package: dict[str, str]
) -> None:
    """And the exit code is not zero."""
    for name, text in package.items():
        path = world / "site" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    done = subprocess.run(
        [sys.executable, "-c", RUN, str(world / "site")],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        timeout=60,
    )

    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.strip() == f"brimline: {command.MISSING}"
    assert "brimline[mcp]" in command.MISSING


def test_a_defect_of_ours_is_not_taken_for_a_missing_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would send people to install what they have."""
    monkeypatch.setitem(sys.modules, "brimline.mcp.tools", None)
    monkeypatch.delitem(sys.modules, "brimline.mcp.server", raising=False)
    monkeypatch.delattr("brimline.mcp.server", raising=False)
    monkeypatch.delattr("brimline.mcp.tools", raising=False)

    with pytest.raises(ImportError):
        command.mcp.callback()  # type: ignore[misc]
    assert not issubclass(ImportError, BrimlineError)
