"""What `brimline run` makes of its arguments, of settings and of the environment."""

from __future__ import annotations

import json
import os
import signal
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from brimline.errors import BrimlineError
from brimline.gateway import launching, serving
from brimline.settings import clientsettings

if TYPE_CHECKING:
    from collections.abc import Mapping

PERCENT, WINDOW = "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "CLAUDE_CODE_AUTO_COMPACT_WINDOW"


@pytest.mark.parametrize(
    ("words", "settings", "sources", "rest"),
    [
        ([], {}, None, []),
        (["-p", "hi"], {}, None, ["-p", "hi"]),
        (["--settings", '{"a": 1}', "-p"], {"a": 1}, None, ["-p"]),
        (['--settings={"a": "b=c"}', "-p"], {"a": "b=c"}, None, ["-p"]),
        (["--settings"], {}, None, []),
        (["--setting-sources", "user"], {}, "user", ["--setting-sources", "user"]),
        (["--setting-sources=user,local"], {}, "user,local", ["--setting-sources", "user,local"]),
        (["--setting-sources"], {}, "", ["--setting-sources", ""]),
        (["a=b", "--model=x"], {}, None, ["a=b", "--model=x"]),
        (["--", "--settings", "{}"], {}, None, ["--", "--settings", "{}"]),
    ],
)
def test_settings_are_taken_out_of_the_arguments_and_sources_are_only_read(
    words: list[str], settings: dict[str, Any], sources: str | None, rest: list[str]
) -> None:
    """Behind `--` there are no options."""
    assert launching._parse_client_arguments(words) == (settings, sources, rest)


def test_settings_are_json_or_the_name_of_a_file_with_it(tmp_path: Path) -> None:
    """Anything else is refused in a sentence."""
    file = tmp_path / "own.json"
    file.write_text('{"model": "ö"}', encoding="utf-8")

    assert launching._read_settings_argument(str(file)) == {"model": "ö"}
    assert launching._read_settings_argument(' {"a": 1}') == {"a": 1}
    for text in ("{no", str(tmp_path / "none")):
        with pytest.raises(BrimlineError, match="--settings cannot be read"):
            launching._read_settings_argument(text)
    file.write_text("[]")
    with pytest.raises(BrimlineError, match="--settings holds no JSON object"):
        launching._read_settings_argument(str(file))


@pytest.mark.parametrize(
    ("env", "percent", "told"),
    [
        ({}, None, {}),
        ({}, 70, {PERCENT: "70", WINDOW: "1000000"}),
        ({WINDOW: "9"}, 70, {PERCENT: "70", WINDOW: "9"}),
        ({WINDOW: "9"}, None, {}),
    ],
)
def test_the_client_is_told_where_to_compact_by_variables(
    env: Mapping[str, str], percent: int | None, told: dict[str, str]
) -> None:
    """A percentage needs a window, and any is large enough; one that is set already stays."""
    assert launching._variables_for_compaction_point(env, percent) == told


@pytest.mark.parametrize(
    ("env", "told"),
    [
        ({}, None),
        ({"NO_PROXY": "a"}, None),
        ({"HTTPS_PROXY": ""}, None),
        ({"HTTPS_PROXY": "http://p", "NO_PROXY": "*"}, None),
        ({"https_proxy": "http://p"}, "127.0.0.1,localhost"),
        ({"ALL_PROXY": "http://p", "no_proxy": "a, localhost"}, "a,localhost,127.0.0.1"),
    ],
)
def test_the_gateway_is_reached_without_a_proxy(env: dict[str, str], told: str | None) -> None:
    """Beside the hosts that were; where there is no proxy nothing is said."""
    wanted = {} if told is None else {"no_proxy": told, "NO_PROXY": told}
    assert launching._no_proxy_variables(env) == wanted


@pytest.mark.parametrize("value", ["1", "true", "yes"])
@pytest.mark.parametrize(
    ("name", "service"),
    [
        ("CLAUDE_CODE_USE_BEDROCK", "Bedrock"),
        ("CLAUDE_CODE_USE_VERTEX", "Vertex"),
        ("CLAUDE_CODE_USE_FOUNDRY", "Foundry"),
    ],
)
def test_a_service_the_gateway_cannot_speak_is_refused(name: str, service: str, value: str) -> None:
    """By the name of the variable that chooses it."""
    with pytest.raises(BrimlineError, match=f"{name} is set: .* {service}'s protocol"):
        launching._upstream_url({name: value})


@pytest.mark.parametrize("value", ["", "0", "False", "no", "OFF"])
def test_a_service_that_is_switched_off_is_not_used(value: str) -> None:
    """The one of the base URL is, else the usual one."""
    env = {"CLAUDE_CODE_USE_VERTEX": value, serving.BASE_URL: "https://own.example"}

    assert launching._upstream_url(env) == "https://own.example"
    assert launching._upstream_url(env | {serving.BASE_URL: ""}) == serving.SERVICE
    with pytest.raises(BrimlineError, match="ANTHROPIC_BASE_URL is 'own'"):
        launching._upstream_url(env | {serving.BASE_URL: "own"})


def write_variables(path: str, **variables: object) -> None:
    """Settings of the client with variables."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(json.dumps({"env": variables}))


def trust(world: Path) -> None:
    """Have the client know that the user trusts the project."""
    notes = world / "home" / ".claude" / ".claude.json"
    notes.parent.mkdir(parents=True, exist_ok=True)
    projects = {str(world / "project"): {"hasTrustDialogAccepted": True}}
    notes.write_text(json.dumps({"projects": projects}))


@pytest.mark.parametrize(
    ("sources", "is_trusted", "strongest"),
    [
        (None, True, ["managed", "flag", "local", "project", "user"]),
        (None, False, ["managed", "flag", "user"]),
        ("user, project", True, ["managed", "flag", "project", "user"]),
        ("project", False, ["managed", "flag"]),
        ("", True, ["managed", "flag"]),
    ],
)
def test_variables_are_those_that_the_client_would_see(
    world: Path, sources: str | None, is_trusted: bool, strongest: list[str]
) -> None:
    """The organisation's settings are the strongest, then `--settings`, then the files."""
    files = clientsettings.path_by_scope(str(world / "project"))
    scopes = ["managed", "flag", "local", "project", "user"]
    ranks = {scope: {f"V{at}": scope for at in range(scopes.index(scope) + 1)} for scope in scopes}
    for scope, path in files.items():
        write_variables(path, **ranks[scope])
    if is_trusted:
        trust(world)

    env = launching._env_with_client_settings({"env": ranks["flag"]}, sources)

    # Of the variables that a scope and all weaker ones set, the strongest that counts says it.
    expected = {
        f"V{at}": next(s for s in strongest if scopes.index(s) >= at)
        for at in range(scopes.index(strongest[-1]) + 1)
    }
    assert {name: value for name, value in env.items() if name in ranks["user"]} == expected


def test_a_value_of_a_variable_is_text() -> None:
    """What is not an object of variables holds none."""
    assert launching._env_of_settings_document({"env": {"A": 1, "B": "x"}}) == {"A": "1", "B": "x"}
    assert launching._env_of_settings_document({"env": ["A"]}) == {}


def test_settings_are_written_for_the_user_alone_and_go_in_the_end(world: Path) -> None:
    """Of those that killed runs left, one that is in use or was just written stays."""
    folder = world / "brimline" / "gateway"
    folder.mkdir(parents=True)
    old, young = folder / "run-old", folder / "run-young"
    old.touch()
    young.touch()
    os.utime(old, (0, 0))

    with (
        launching._temporary_settings_file({"a": 1}) as path,
        launching._temporary_settings_file({"b": 2}) as other,
    ):
        os.utime(path, (0, 0))
        with launching._temporary_settings_file({}):
            names = {file.name for file in folder.glob("run-*")}
        mode = stat.S_IMODE(os.stat(path).st_mode)
        texts = [Path(name).read_text() for name in (path, other)]

    assert texts == ['{"a": 1}', '{"b": 2}']
    assert mode == 0o600
    assert {Path(path).name, Path(other).name, "run-young"} < names
    assert "run-old" not in names
    assert [file.name for file in folder.glob("run-*")] == ["run-young"]


@pytest.mark.parametrize(
    ("code", "exit_code"),
    [("pass", 0), ("raise SystemExit(7)", 7), ("import os; os.kill(os.getpid(), 9)", 137)],
)
def test_the_exit_code_is_the_clients(code: str, exit_code: int) -> None:
    """Of one that was killed, what a shell says of it."""
    command = [sys.executable, "-I", "-S", "-c", code]
    assert launching._run_client_in_foreground(command, {}) == exit_code


def test_when_the_client_has_ended_signals_are_ours_again() -> None:
    """As they were before; while it runs they are the client's."""
    numbers = [getattr(signal, name) for name in launching._PASSED_ON]
    before = {number: signal.getsignal(number) for number in numbers}

    code = launching._run_client_in_foreground(
        [sys.executable, "-I", "-S", "-c", f"import os; os.kill(os.getppid(), {signal.SIGUSR1})"],
        {},
    )

    assert {number: signal.getsignal(number) for number in numbers} == before
    assert code in (0, 128 + signal.SIGUSR1)
