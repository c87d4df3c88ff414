"""The process behind the mod: `<data folder>/bin/hook mod compact`, which needs no click.

Reads one JSON object from standard input and writes one to standard output. Whatever goes wrong,
the answer is to pass, with exit code 0, and the failure becomes one line in the error log.
"""

from __future__ import annotations

from typing import Any

from brimline.fast import io, json, paths, policy

_STDIN_LIMIT_BYTES = 256 << 20


def main(name: str, installed_home: str = "") -> None:
    """Answer what the mod asks, and end the process.

    Args:
        name: what it asks for: `compact`, or `alive` when a session begins.
        installed_home: the data folder that the installer wrote into the launcher, if any.
    """
    home_dir = None
    try:
        home_dir = paths.home(installed_home or None)
        answer = respond(name, io.read_all(0, _STDIN_LIMIT_BYTES), home_dir)
    except BaseException as error:  # noqa: BLE001 - the client makes its own summary then
        answer = {"pass": f"{type(error).__name__}: {error}"[:300]}
        _log_failure(home_dir, error)
    _write(json.dumps(answer).encode())
    io.system._exit(0)  # noqa: SLF001 - its public name


def respond(name: str, raw: bytes, home_dir: str) -> dict[str, Any]:
    """The answer to one request.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: it is not a request of the mod's.
    """
    if name not in ("alive", "compact"):
        raise ValueError(f"the mod asks for {name!r}, which is unknown")
    if policy.switched_off():
        return {"pass": "brimline is switched off"}
    request = json.load_object(raw)
    values = policy.load(home_dir, request["cwd"]).values
    if name == "alive":
        from brimline.mod import alive

        return alive.answer(request, home_dir, values)
    from brimline.mod import compact

    return compact.answer(request, home_dir, values)


def _write(answer: bytes) -> None:
    try:
        while answer:
            answer = answer[io.system.write(1, answer) :]
    except OSError:
        pass  # the client is gone


def _log_failure(home_dir: str | None, error: BaseException) -> None:
    try:
        from brimline.state import logs

        logs.record_failure(home_dir or paths.home(), "mod", error, "")
    except BaseException:  # noqa: BLE001, S110 - there is nobody left to tell
        pass
