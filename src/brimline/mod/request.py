"""The process behind the mod: `<data folder>/bin/hook mod compact`, which needs no click.

Reads one JSON object from standard input and writes one to standard output. Whatever goes wrong,
the answer is to pass, with exit code 0, and the failure becomes one line in the error log.
"""

from __future__ import annotations

import time
from typing import Any

from brimline import models
from brimline.fast import io, json, paths, policy
from brimline.state.session import MOVED_OUT, SessionState

# The mod waits for eight seconds; an answer that it no longer hears must leave no trace.
_LONGEST_S = 7.0
# So much of the end of a transcript is read that no hook has read yet.
_MOST_BYTES = 5 << 20
_STDIN_LIMIT_BYTES = 256 << 20


def main(name: str, installed_home: str = "") -> None:
    """Answer what the mod asks, and end the process.

    Args:
        name: what it asks for: `compact`, `append`, `command`, `alive` when a session begins, or
            `failed`, to have a failure of its own in the error log.
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
    if name not in ("alive", "append", "command", "compact", "failed"):
        raise ValueError(f"the mod asks for {name!r}, which is unknown")
    if policy.switched_off():
        return {"pass": "brimline is switched off"}
    begun = time.monotonic()
    request = json.load_object(raw)
    del raw
    if name == "failed":
        raise ModError(request["message"])
    if name == "command":
        from brimline.mod import typed

        return typed.respond(request, home_dir)
    if name == "append":
        from brimline.mod import append

        return append.answer(request, home_dir)
    settings = policy.load(home_dir, request["cwd"])
    values = settings.values
    if name == "alive":
        from brimline.mod import alive

        return alive.answer(request, home_dir, values)
    from brimline.mod import compact

    answer, freed_tokens = compact.move_out_cold(request, home_dir, values)
    seconds = time.monotonic() - begun
    if seconds > _LONGEST_S:
        return {"pass": "it took too long"}
    if "pass" not in answer:
        answer["thoughts"] = _speaks_in_thinking(request.get("model"), settings.models)
        _save_checkpoint(home_dir, request, values)
        _spool_moved_out(home_dir, request, answer, round(freed_tokens), round(seconds, 2))
    return answer


def _speaks_in_thinking(model: Any, rows: list[dict[str, Any]]) -> bool:
    """Tell whether a model's readable thinking is what older ones say as text between calls."""
    return isinstance(model, str) and models.pick(model, rows).binds_thinking


class ModError(Exception):
    """What went wrong inside the client, for the error log."""


def _save_checkpoint(home_dir: str, request: dict[str, Any], values: dict[str, Any]) -> None:
    """Write down the state of the work, which the client's own way does at PreCompact."""
    if not values["carry.enabled"]:
        return
    from brimline.carry import checkpoint, fold, ledger, notes
    from brimline.errors import StateError
    from brimline.transcript import find

    session = request["session"]
    files = [request.get("transcript"), *find.beginning_with(f"{session}.jsonl")]
    transcript = next(filter(None, files), None)
    record = ledger.load(home_dir, session)
    try:
        if fold.bring_up_to_date(record, transcript, most_bytes=_MOST_BYTES):
            ledger.save(home_dir, record)
        checkpoint.save(
            home_dir,
            notes.merge(home_dir, record),
            trigger=request["trigger"],
            project_dir=request["cwd"],
            transcript=transcript,
            figures={"occupancy": request.get("used_tokens")},
            critical_files=values["carry.critical_files"],
        )
    except (OSError, StateError) as error:
        _log_failure(home_dir, error)


def _spool_moved_out(
    home_dir: str, request: dict[str, Any], answer: dict[str, Any], freed: int, seconds: float
) -> None:
    """Leave word of the compaction for the hooks that the client calls next, and for the history.

    Raises:
        OSError: it cannot be written; then nothing may be replaced either.
    """
    figures: dict[str, Any] = {"results": len(answer["results"]), "inputs": len(answer["inputs"])}
    figures |= {"freed_tokens": freed, "seconds": seconds, "trigger": request["trigger"]}
    SessionState(home_dir, request["session"]).add_line(MOVED_OUT, figures)


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
