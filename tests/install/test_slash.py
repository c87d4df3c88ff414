"""The slash commands as files: what the client needs to list, check and run them."""

from __future__ import annotations

import re

import pytest

from brimline.install import slash
from brimline.install.program import Program
from brimline.store import directives

PLAIN = Program("/opt/py/bin/python3", ("-I", "-m", "brimline"), None, has_sdk=True)


def _head(text: bytes) -> dict[str, str]:
    _, head, _ = text.decode().split("---\n", 2)
    pairs = [line.split(": ", 1) for line in head.splitlines()]
    return {key: value.strip("'").replace("''", "'") for key, value in pairs}


def _body(text: bytes) -> str:
    return text.decode().split("---\n", 2)[2]


def test_every_command_has_a_file_that_the_model_cannot_invoke() -> None:
    """It is for the user; the client does not even list it to the model."""
    files = slash.files(PLAIN)

    assert set(files) == {f"{command.name}.md" for command in slash.COMMANDS}
    for text in files.values():
        assert _head(text)["disable-model-invocation"] == "true"
        assert 10 < len(_head(text)["description"]) < 80
    assert slash.left_out(PLAIN) == []


def test_names_are_unique_and_plain() -> None:
    """A name becomes a file's name and what people type."""
    names = [command.name for command in slash.COMMANDS]

    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", name) for name in names)


@pytest.mark.row("S3-65")
@pytest.mark.parametrize("kind", ["last", "next", "start", "end"])
def test_a_pin_command_emits_its_directive(kind: str) -> None:
    """With what was typed behind it; the client leaves nothing where nothing was."""
    body = _body(slash.files(PLAIN)[f"pin-{kind}.md"])
    given = body.replace("$ARGUMENTS", 'level=hard reason="the build"')

    (plain,) = directives.parse(body.replace("$ARGUMENTS", ""))
    (full,) = directives.parse(given)

    assert plain == directives.Directive(kind)
    level, reason = ("soft", None) if kind == "end" else ("hard", "the build")
    assert full == directives.Directive(kind, level, reason)


def test_a_command_that_runs_something_allows_exactly_that() -> None:
    """The client runs the line unasked only where a rule names it."""
    files = slash.files(PLAIN)

    line = "/opt/py/bin/python3 -I -m brimline status --session"
    assert _head(files["status.md"])["allowed-tools"] == f"Bash({line}:*)"
    assert _body(files["status.md"]).startswith(f"!`{line} ${{CLAUDE_SESSION_ID}}`\n")
    line = "/opt/py/bin/python3 -I -m brimline store list"
    assert _head(files["store.md"])["allowed-tools"] == f"Bash({line})"
    assert _body(files["store.md"]).startswith(f"!`{line}`\n")


def test_a_data_folder_of_ones_own_goes_along() -> None:
    """Also with a space in its path, which is quoted in the line and in the rule."""
    files = slash.files(PLAIN._replace(home="/my data/brim"))

    line = "env 'BRIMLINE_HOME=/my data/brim' /opt/py/bin/python3 -I -m brimline store list"
    assert _head(files["store.md"])["allowed-tools"] == f"Bash({line})"
    assert f"!`{line}`" in _body(files["store.md"])


@pytest.mark.parametrize(
    "program",
    [
        PLAIN._replace(interpreter="/opt/`id`/python"),
        PLAIN._replace(interpreter="/opt/py(3)/python"),
        PLAIN._replace(interpreter="/it's/python"),
        PLAIN._replace(interpreter="/a\nb/python"),
        PLAIN._replace(home="/data/$HOME"),
        PLAIN._replace(options=("-I", "-c", "import sys;sys.path.insert(0,'/x')")),
    ],
)
def test_a_line_that_the_client_cannot_check_is_left_out(program: Program) -> None:
    """It would refuse the whole command; the others are offered all the same."""
    assert slash.left_out(program) == [command.name for command in slash.COMMANDS if command.runs]
    assert set(slash.files(program)) == {f"pin-{k}.md" for k in ("last", "next", "start", "end")}
