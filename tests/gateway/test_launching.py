"""What `brimline run` makes of its arguments, of settings and of the environment."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
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
    ("words", "window"),
    [
        ([], ""),
        (["--autocompact", "auto"], ""),
        (["--autocompact", "300"], "300000"),
        (["--autocompact=1000"], "1000000"),
        (["--autocompact", "1001"], "1001"),
        (["-p", "--autocompact", "0.5M", "x"], "500000"),
        (["--autocompact", "64.5k"], "64500"),
        (["--autocompact", "30kb"], ""),
        (["--no--autocompact", "300"], ""),
        (["-p", "--", "--autocompact", "300"], ""),
    ],
)
def test_a_window_is_said_in_tokens_or_thousands_of_them(words: list[str], window: str) -> None:
    """A bare number up to a thousand is one of thousands."""
    assert launching._window_of_autocompact_flag(words) == window


@pytest.mark.parametrize(
    ("env", "words", "percent", "told"),
    [
        ({}, [], None, {}),
        ({}, [], 70, {PERCENT: "70", WINDOW: "1000000"}),
        ({WINDOW: "9"}, [], 70, {PERCENT: "70", WINDOW: "9"}),
        ({WINDOW: "9"}, ["--autocompact", "300k"], None, {WINDOW: "9"}),
        ({WINDOW: ""}, ["--autocompact", "300k"], None, {WINDOW: "300000"}),
        ({}, ["--autocompact", "300k"], 60, {PERCENT: "60", WINDOW: "300000"}),
    ],
)
def test_the_client_is_told_where_to_compact_by_variables(
    env: Mapping[str, str], words: list[str], percent: int | None, told: dict[str, str]
) -> None:
    """One that is set already stays; a percentage needs a window, and any is large enough."""
    assert launching._variables_for_compaction_point(env, words, percent) == told


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


@pytest.mark.parametrize("variable", ["ANTHROPIC_BASE_URL", "https_proxy", "SSL_CERT_FILE"])
def test_of_a_folder_that_is_not_trusted_the_person_is_told_what_does_not_count(
    world: Path, capsys: pytest.CaptureFixture[str], variable: str
) -> None:
    """Where it names a way to a service, and not for any other variable."""
    path = clientsettings.path_by_scope(str(world / "project"))["local"]
    write_variables(path, OTHER="1")
    assert "OTHER" not in launching._env_with_client_settings({}, None)
    quiet = capsys.readouterr().err
    write_variables(path, **{variable: "x"})
    launching._env_with_client_settings({}, "user")
    unread = capsys.readouterr().err
    launching._env_with_client_settings({"env": "none"}, None)

    assert (quiet, unread) == ("", "")
    assert "this folder's own settings name a service" in capsys.readouterr().err


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


def test_where_the_data_folder_cannot_hold_them_settings_are_written_elsewhere(world: Path) -> None:
    """A session begins all the same."""
    (world / "brimline").write_text("no folder")

    with launching._temporary_settings_file({"a": 1}) as path:
        assert Path(path).name.startswith("brimline-run-")
        assert Path(path).read_text() == '{"a": 1}'


@pytest.mark.parametrize(
    ("code", "exit_code"),
    [("pass", 0), ("raise SystemExit(7)", 7), ("import os; os.kill(os.getpid(), 9)", 137)],
)
def test_the_exit_code_is_the_clients(code: str, exit_code: int) -> None:
    """Of one that was killed, what a shell says of it."""
    assert (
        launching._run_client_in_foreground([sys.executable, "-I", "-S", "-c", code]) == exit_code
    )


def test_a_gateway_has_of_the_environment_only_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """And what it is given: no key, and nothing that changes Python."""
    for name in list(os.environ):
        monkeypatch.delenv(name)
    for name in ("PATH", "TZ", "BRIMLINE_HOME", "ANTHROPIC_API_KEY", "PYTHONPATH", "XBRIMLINE_"):
        monkeypatch.setenv(name, "here")
    with socket.socket() as listening:
        env = launching._Gateway(listening, {"OWN": "1", "TZ": "given"})._env

    assert env == {"PATH": "here", "TZ": "given", "BRIMLINE_HOME": "here", "OWN": "1"}


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("print('brimline: no room', flush=True)", "^no room$"),
        ("print('first'); print('last')", "^last$"),
        ("pass", "^the gateway ended at once$"),
    ],
)
def test_a_gateway_that_ends_at_once_is_an_error_with_its_last_words(
    monkeypatch: pytest.MonkeyPatch, code: str, problem: str
) -> None:
    """Nothing is left running."""
    monkeypatch.setattr(launching, "_OURSELVES", code)
    with serving.listen(0) as listening:
        gateway = launching._Gateway(listening, {})
        with pytest.raises(BrimlineError, match=problem):
            gateway.start("usual")
        gateway.stop()


@pytest.mark.parametrize("said", ["", "brimline: requests pass as they are"])
def test_what_a_gateway_says_before_it_serves_is_told_instead_of_the_usual(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], said: str
) -> None:
    """It lives until its lifeline ends, by which it is stopped."""
    code = f"import os, sys; print({said!r}) if {said!r} else 0; print('http://x', flush=True); "
    code += "os.read(int(sys.argv[-1]), 1)"
    monkeypatch.setattr(launching, "_OURSELVES", code)
    with serving.listen(0) as listening:
        gateway = launching._Gateway(listening, {})
        gateway.start("usual")
        process = gateway._process
        gateway.stop()

    assert capsys.readouterr().err.strip() == (said or "usual")
    assert isinstance(process, subprocess.Popen)
    assert process.returncode == 0


def test_variables_of_both_are_handed_to_the_client_and_to_the_gateway(
    world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client gets the gateway's address, the gateway the service's, and no key."""
    client = world / "bin" / "claude"
    client.parent.mkdir()
    client.write_text(f'#!/bin/sh\ncp "$2" {world}/settings.json\necho "$@" > {world}/args\n')
    client.chmod(0o755)
    monkeypatch.setenv("PATH", f"{client.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a key")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "https://own.example")
    told = "import json, os, sys; json.dump(dict(os.environ), open(sys.argv[-1] and "
    told += f"{str(world / 'env.json')!r}, 'w')); print('http://x', flush=True); "
    told += "os.read(int(sys.argv[-1]), 1)"
    monkeypatch.setattr(launching, "_OURSELVES", told)

    code = launching.run_client_behind_gateway(
        ["--settings", '{"env": {"A": "1"}, "model": "m"}', "-p", "hi"], 70
    )

    settings = json.loads((world / "settings.json").read_text())
    env = json.loads((world / "env.json").read_text())
    words = (world / "args").read_text().split()
    address = settings["env"].pop("ANTHROPIC_BASE_URL")
    assert code == 0
    assert settings == {"env": {"A": "1", PERCENT: "70", WINDOW: "1000000"}, "model": "m"}
    assert words[0] == "--settings"
    assert words[2:] == ["-p", "hi"]
    assert address.startswith("http://127.0.0.1:")
    assert address.endswith(f"/{env['BRIMLINE_GATEWAY_PATH']}")
    assert env["ANTHROPIC_BASE_URL"] == "https://own.example"
    assert (env[PERCENT], env[WINDOW]) == ("70", "1000000")
    assert "ANTHROPIC_API_KEY" not in env


def test_a_gateway_that_was_never_started_can_be_stopped() -> None:
    """Nothing of it is there."""
    with serving.listen(0) as listening:
        gateway = launching._Gateway(listening, {})
        gateway.stop()

    assert (gateway._process, gateway._lifeline) == (None, None)


def test_when_the_client_has_ended_signals_are_ours_again() -> None:
    """As they were before; while it runs they are the client's."""
    numbers = [getattr(signal, name) for name in launching._PASSED_ON]
    before = {number: signal.getsignal(number) for number in numbers}

    code = launching._run_client_in_foreground(
        [sys.executable, "-I", "-S", "-c", f"import os; os.kill(os.getppid(), {signal.SIGUSR1})"]
    )

    assert {number: signal.getsignal(number) for number in numbers} == before
    assert code in (0, 128 + signal.SIGUSR1)


@pytest.mark.parametrize("said", ["", "no room"])
def test_a_gateway_that_ends_again_and_again_is_started_three_times(
    world: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    """From then on every request is answered with what to do, and with its last words."""
    count = world / "count"
    code = f"open({str(count)!r}, 'a').write('x'); print({said!r}) if {said!r} else 0; "
    code += f"print('http://x', flush=True) if len(open({str(count)!r}).read()) == 1 else 0"
    monkeypatch.setattr(launching, "_OURSELVES", code)
    with serving.listen(0) as listening:
        gateway = launching._Gateway(listening, {})
        gateway.start("usual")
        with socket.create_connection(listening.getsockname(), timeout=60) as asking:
            asking.sendall(b"POST / HTTP/1.1\r\n\r\n")
            asking.shutdown(socket.SHUT_WR)
            answer = asking.makefile("rb").read()
        gateway.stop()
        gateway._watcher.join(60)

    told = json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["message"]
    why = f" ({said})" if said else ""
    assert told.startswith(f"brimline's gateway ends whenever it is started again{why}. Leave the")
    assert told.endswith("or without the gateway with `claude --continue`")
    assert count.read_text() == "xxx"


def test_where_no_gateway_lives_every_request_gets_the_sentence() -> None:
    """As an error of the service, which clients show and do not ask again after."""
    ending = threading.Event()
    with serving.listen(0) as listening:
        arguments = (listening, "what to do", ending)
        teller = threading.Thread(target=launching._refuse_requests, args=arguments)
        teller.start()
        answers = []
        for _ in range(2):
            with socket.create_connection(listening.getsockname(), timeout=30) as asking:
                asking.sendall(b"POST / HTTP/1.1\r\n\r\n")
                asking.shutdown(socket.SHUT_WR)
                answers.append(asking.makefile("rb").read())
        ending.set()
        teller.join()

    head, _, body = answers[0].partition(b"\r\n\r\n")
    assert answers[1] == answers[0]
    assert head.startswith(b"HTTP/1.1 400 ")
    assert f"content-length: {len(body)}".encode() in head
    error = {"type": "invalid_request_error", "message": "what to do"}
    assert json.loads(body) == {"type": "error", "error": error}
