"""`brimline run`: a client behind a gateway of its own, and nothing left when it ends."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import termios
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brimline import output
from brimline.errors import BrimlineError
from brimline.fast import io, paths
from brimline.gateway import serving
from brimline.gateway.proxies import NO_PROXIES, PROXIES, hosts_listed_in_no_proxy
from brimline.settings import clientsettings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

CLIENT = "claude"
_OTHER_SERVICES = ("Bedrock", "Vertex", "Foundry")
_PERCENT, _WINDOW = "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "CLAUDE_CODE_AUTO_COMPACT_WINDOW"
# Larger than any: the client takes the model's own window where that is smaller.
_ANY_WINDOW = "1000000"
_PASSED_ON = ("SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")
# How the client reaches its service is how the gateway does.
_NETWORK = (serving.BASE_URL, *PROXIES, *NO_PROXIES, *serving.AUTHORITIES)
_OURS = (*_NETWORK, _PERCENT, _WINDOW)
# In a folder that the client has not asked about, the repository has written these.
_OF_A_PROJECT = ("project", "local")
_LOOPBACK = (serving.HOST, "localhost")
_RUN = "run-"
_BEING_WRITTEN_S = 60.0
_KILLED_EXIT = 128
_HERE = (
    "brimline: this session runs behind a gateway; resume it with `brimline run -- --resume`, as "
    "without it most models lose their thinking so far"
)
# With these the client prints something and begins no session.
_PRINTS = {"-v", "--version", "-h", "--help"}
_NOT_TRUSTED = (
    "brimline: this folder's own settings name a service, proxy or certificate; they are not used "
    "before you have told the client that you trust the folder"
)


def run_client_behind_gateway(arguments: list[str], compact_pct: int | None) -> int:
    """Run a client to its end; returns its exit code.

    Raises:
        BrimlineError: there is no client, it would not use the service that the gateway speaks, or
            the gateway cannot be started.
    """
    serving.require_libraries()
    client = shutil.which(CLIENT)
    if client is None:
        raise BrimlineError(f"`{CLIENT}` is not on the PATH: install Claude Code first")
    settings, sources, rest = _parse_client_arguments(arguments)
    env = _env_with_client_settings(settings, sources)
    plan = serving.Plan(_upstream_url(env), serving.fresh_secret())
    with serving.listen(0) as listening:
        own_env, url = settings.get("env"), serving.base_url(listening, plan.secret)
        compaction = _variables_for_compaction_point(env, compact_pct)
        variables = {serving.BASE_URL: url} | _no_proxy_variables(env) | compaction
        settings["env"] = (own_env if isinstance(own_env, dict) else {}) | variables
        clients_env = dict(os.environ)
        os.environ |= {name: value for name, value in (env | compaction).items() if name in _OURS}
        with serving.serving_meanwhile(plan, listening), _temporary_settings_file(settings) as path:
            if not _PRINTS & {*rest}:
                output.complain(_HERE)
            return _run_client_in_foreground([client, "--settings", path, *rest], clients_env)


def _parse_client_arguments(arguments: list[str]) -> tuple[dict[str, Any], str | None, list[str]]:
    """What `--settings` and `--setting-sources` say, and the arguments without the former."""
    rest: list[str] = []
    told, sources = "", None
    words = iter(arguments)
    for word in words:
        name, equals, value = word.partition("=")
        if word == "--":
            rest += [word, *words]
        elif name == "--settings":
            told = value if equals else next(words, "")
        elif name == "--setting-sources":
            sources = value if equals else next(words, "")
            rest += [name, sources]
        else:
            rest.append(word)
    return _read_settings_argument(told) if told else {}, sources, rest


def _variables_for_compaction_point(
    env: Mapping[str, str], compact_pct: int | None
) -> dict[str, str]:
    """Where the client is to compact, as gateway and hooks read it, too."""
    if compact_pct is None:
        return {}
    return {_PERCENT: str(compact_pct), _WINDOW: env.get(_WINDOW) or _ANY_WINDOW}


def _read_settings_argument(text: str) -> dict[str, Any]:
    """Return what `--settings` says: JSON, or the name of a file with it."""
    try:
        if not text.lstrip().startswith("{"):
            with open(text, encoding="utf-8") as file:
                text = file.read()
        settings = json.loads(text)
    except (OSError, ValueError) as error:
        raise BrimlineError(f"--settings cannot be read ({error})") from None
    if not isinstance(settings, dict):
        raise BrimlineError("--settings holds no JSON object")
    return settings


def _env_with_client_settings(settings: dict[str, Any], sources: str | None) -> dict[str, str]:
    """The variables as the client would see them: its settings are stronger than ours.

    Where the client would still ask whether a folder is to be trusted, its settings do not count:
    they would have the user's key before the user has answered.
    """
    folder = os.getcwd()
    files = clientsettings.path_by_scope(folder)
    wanted = set(files if sources is None else ("managed", *map(str.strip, sources.split(","))))
    if not clientsettings.is_trusted_folder(folder):
        doubtful = [files[scope] for scope in _OF_A_PROJECT if scope in wanted]
        found = map(clientsettings.read_settings, doubtful)
        if any(_env_of_settings_document(document).keys() & _NETWORK for document in found):
            output.complain(_NOT_TRUSTED)
        wanted -= {*_OF_A_PROJECT}
    documents = [clientsettings.read_settings(files[scope]) for scope in files if scope in wanted]
    # `--settings` stands above the files but for those of the organisation, which come last.
    documents.insert(-1, settings)
    env = dict(os.environ)
    for document in documents:
        env |= _env_of_settings_document(document)
    return env


def _env_of_settings_document(settings: dict[str, Any]) -> dict[str, str]:
    own = settings.get("env")
    return {name: str(value) for name, value in own.items()} if isinstance(own, dict) else {}


def _no_proxy_variables(env: Mapping[str, str]) -> dict[str, str]:
    """The way to us is not by a proxy, which would read all that is sent."""
    told = hosts_listed_in_no_proxy(env)
    if not any(map(env.get, PROXIES)) or "*" in told:
        return {}
    return dict.fromkeys(NO_PROXIES, ",".join(dict.fromkeys((*told, *_LOOPBACK))))


@contextlib.contextmanager
def _temporary_settings_file(settings: dict[str, Any]) -> Iterator[str]:
    """The settings in a file that only the user can read: arguments are for everybody to see.

    It is locked while we live. One that is not was left by a run that was killed, and goes.
    """
    import fcntl

    place = os.path.dirname(paths.stand_ins_database(paths.data_dir()))
    try:
        io.make_folder_and_parents(place)
        for left in Path(place).glob(f"{_RUN}*"):
            with contextlib.suppress(OSError), open(os.open(left, io.READ), "rb") as other:
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if time.time() - left.stat().st_mtime > _BEING_WRITTEN_S:
                    left.unlink()
        file = tempfile.NamedTemporaryFile("w", prefix=_RUN, dir=place)  # noqa: SIM115
    except OSError:
        file = tempfile.NamedTemporaryFile("w", prefix=f"brimline-{_RUN}")  # noqa: SIM115
    with file:
        fcntl.flock(file, fcntl.LOCK_SH)
        json.dump(settings, file)
        file.flush()
        yield file.name


def _upstream_url(env: Mapping[str, str]) -> str:
    for service in _OTHER_SERVICES:
        name = f"CLAUDE_CODE_USE_{service.upper()}"
        if env.get(name, "").lower() not in ("", "0", "false", "no", "off"):
            raise BrimlineError(
                f"{name} is set: the gateway does not speak {service}'s protocol; "
                f"start `{CLIENT}` without it"
            )
    return serving.checked_url(env.get(serving.BASE_URL) or serving.SERVICE, serving.BASE_URL)


def _run_client_in_foreground(command: list[str], env: dict[str, str]) -> int:
    """The client in the foreground: the terminal and its keys are all the client's."""
    process: subprocess.Popen[bytes] | None = None
    early: list[int] = []

    def pass_signal_on(number: int, _frame: object = None) -> None:
        if number in (signal.SIGINT, signal.SIGQUIT) and _does_terminal_send_key_signals():
            return  # it reached the client by itself
        if process is None:
            early.append(number)  # it is being started
        else:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(number)

    numbers = [getattr(signal, name) for name in _PASSED_ON]
    before = {number: signal.signal(number, pass_signal_on) for number in numbers}
    try:
        process = subprocess.Popen(command, env=env)
        for missed in early:
            pass_signal_on(missed)
        code = process.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return code if code >= 0 else _KILLED_EXIT - code


def _does_terminal_send_key_signals() -> bool:
    """Whether a terminal makes signals of keys, for all that are in its foreground as we are."""
    try:
        with open("/dev/tty", "rb", buffering=0) as terminal:
            makes = termios.tcgetattr(terminal)[3] & termios.ISIG
            return bool(makes) and os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except (OSError, termios.error):
        return False
