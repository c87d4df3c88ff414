"""`brimline scout`: init, status, check."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from brimline.cli.scout import scout
from brimline.errors import ConfigError
from brimline.guard.ignorefile import DEFAULT_RULES


def run(*arguments: str) -> Result:
    """One invocation that must succeed."""
    result = CliRunner().invoke(scout, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


def report(*arguments: str) -> dict[str, Any]:
    """The JSON of one invocation."""
    found: dict[str, Any] = json.loads(run(*arguments, "--json").output)
    return found


@pytest.mark.row("S2-46")
def test_init_writes_the_ignore_file(project_dir: str) -> None:
    """The file is in the project's folder and its path is told."""
    output = run("init").output

    path = Path(project_dir, ".brimlineignore")
    assert str(path) in output
    assert "node_modules/" in path.read_text(encoding="utf-8").splitlines()


def test_init_keeps_a_file_that_is_there_unless_forced(project_dir: str) -> None:
    """The refusal is one of our errors, which the program tells in one sentence."""
    run("init")

    with pytest.raises(ConfigError, match="--force"):
        run("init")
    assert report("init", "--force")["rules"] == list(DEFAULT_RULES)


def test_status_shows_rules_origin_and_mode(project_dir: str) -> None:
    """For a person and for a program."""
    Path(project_dir, ".brimlineignore").write_text("!dist\n[z-a]\n", encoding="utf-8")

    text = run("status").output
    found = report("status")

    assert "the default folders and" in text
    assert "!dist" in text
    assert "[z-a]" in text
    assert found["mode"] == "advise"
    assert found["file"] == str(Path(project_dir, ".brimlineignore"))
    assert found["defaults_in_force"] is True
    assert found["rules"] == [*DEFAULT_RULES, "!dist"]
    assert len(found["problems"]) == 1


def test_status_without_a_file_names_the_defaults() -> None:
    """Nothing has to be written for the defaults to count."""
    assert "from the default folders\n" in run("status").output
    assert report("status")["file"] is None


@pytest.mark.row("S2-46")
@pytest.mark.parametrize(
    ("tool", "text", "kind"),
    [
        ("Bash", "cat node_modules/x.js", "ignored"),
        ("Bash", "npm run build", None),
        ("Read", "dist/a.js", "ignored"),
        ("Read", "src/a.js", None),
        ("Glob", "**/*.ts", "broad"),
        ("Glob", "{dist,src}/**", "ignored"),
        ("Glob", '{"pattern": "**/*.ts", "path": "src"}', None),
        ("Grep", "vendor", "ignored"),
        ("Grep", '{"pattern": "vendor"}', None),
        ("Bash", "{ cat dist/a.js; }", "ignored"),
    ],
)
def test_check_gives_the_verdict(tool: str, text: str, kind: str | None) -> None:
    """The input may be the main field alone or the whole input as JSON."""
    found = report("check", tool, text)

    assert found["kind"] == kind
    assert found["verdict"] == ("allow" if kind is None else "advise")


def test_check_follows_the_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where reads are refused, that is the verdict."""
    monkeypatch.setenv("BRIMLINE_SCOUT_MODE", "block")

    found = report("check", "Bash", "ls node_modules")

    assert found["verdict"] == "deny"
    assert found["rule"] == "node_modules/"
    assert found["allow_line"] == "!node_modules"
    assert run("check", "Bash", "ls node_modules").output.startswith("deny: [brimline]")


def test_check_refuses_a_tool_it_does_not_know() -> None:
    """With the list of those it knows."""
    result = CliRunner().invoke(scout, ["check", "Write", "a"])

    assert result.exit_code == 2
    assert "Glob" in result.output


@pytest.mark.parametrize("command", [[], ["init"], ["status"], ["check"]])
def test_help_has_an_example(command: list[str]) -> None:
    """Every command shows how it is called."""
    assert "Example:" in run(*command, "--help").output


def test_output_has_no_colour_codes() -> None:
    """Plain text whatever the terminal says, so there is nothing for NO_COLOR to switch off."""
    for arguments in (["status"], ["check", "Bash", "ls dist"]):
        result = CliRunner().invoke(scout, arguments, color=True)
        assert "\x1b" not in result.output
