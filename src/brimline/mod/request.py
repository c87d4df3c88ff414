"""The process behind the mod, and the protocol between the two.

`register.js` runs the `command` that the installer wrote into `brimline.json` beside it (the
launcher, `<data folder>/bin/hook mod`, which needs no click) with one of these names behind it. It
sends one JSON object on standard input and reads one from standard output:

    compact  sends session, cwd, trigger, instructions, model, window_tokens, brim_tokens,
             used_tokens, messages, and beside, the client's reminders that it puts back
             behind results; reads results and inputs (what stands in, by call) and
             thoughts (whether readable thinking is to stay, as text), and line, for the person.
             The keys of the originals, keys and input_keys, are for others. With the trigger
             `precompute` nothing is moved: it reads is_enough.
    alive    sends session, cwd, client; reads folder, launcher (what settings start), and cold
             (from how many tokens on, and after how many seconds, to ask for `pause`; null for
             never).
    pause    sends session, cwd, is_resumed; reads text (the cache has expired) or wait_s (when
             to ask again); of a resumed session also saving: a compaction is to be made now.
    cleared  sends session, cwd; reads text (for the model) and person, both about what the client
             dropped; nothing where that was told before.
    command  sends session, cwd, name, arguments; reads text.
    pane     sends session, cwd, columns, rows; reads rows, each a list of texts with a style, and
             is_behind: whether the session's file does not have its last compaction yet.
    failed   sends message, a failure of its own for the error log; reads nothing.

`{"pass": reason}` instead of an answer means that the client goes its own way. Whatever goes wrong
here, the answer is to pass, with exit code 0, and the failure becomes one line in the error log.
"""

from __future__ import annotations

import time

from brimline import models
from brimline.fast import io, json, paths, policy
from brimline.state.session import MOVED_OUT, SessionState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from brimline.bulk import put

# The mod waits for eight seconds; of an answer that it no longer hears nobody may be told.
_LONGEST_S = 7.0
# From then on lines say no more than what they stand for.
_LONGEST_BEFORE_LINES_ARE_BARE_S = 4.0
# What follows the answer is ended after so long.
_LONGEST_BEHIND_S = 30
# So much of the end of a transcript is read that no hook has read yet.
_MOST_BYTES = 5 << 20
_STDIN_LIMIT_BYTES = 256 << 20
# The modules whose `respond` answers; the others are answered here.
ANSWERED_BY = {
    "alive": "alive",
    "cleared": "client_cleared",
    "command": "typed_command",
    "pane": "pane",
    "pause": "cold_cache",
}


def main(name: str) -> None:
    """Answer what the mod asks by one of the names above, and end the process."""
    begun, home_dir, request, answer = time.monotonic(), None, {}, {}
    later: list[put.Record] = []
    try:
        home_dir = paths.data_dir()
        request = json.parse_object(io.read_descriptor(0, _STDIN_LIMIT_BYTES))
        answer = respond(name, request, home_dir, begun, later)
    except BaseException as error:  # noqa: BLE001 - the client makes its own summary then
        answer = {"pass": f"{type(error).__name__}: {error}"[:300]}
        _log_failure(home_dir, error)
    io.write_to_stdout(json.dumps(answer).encode())
    if home_dir and ("results" in answer or later):
        try:
            _finish_behind_answer(home_dir, request, later, is_compacted="results" in answer)
        except BaseException as error:  # noqa: BLE001 - the answer is given
            _log_failure(home_dir, error)
    io.system._exit(0)  # noqa: SLF001 - its public name


def respond(
    name: str,
    request: dict[str, Any],
    home_dir: str,
    begun: float | None = None,
    later: list[put.Record] | None = None,
) -> dict[str, Any]:
    """The answer to one request.

    Args:
        name: what is asked for.
        request: what the mod sends.
        home_dir: the data folder.
        begun: since when the mod has been waiting, by the monotonic clock; now, unless given.
        later: gets what the store is to be told behind the answer; without it that is done at once.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: it is not a request of the mod's.
    """
    if name not in (*ANSWERED_BY, "compact", "failed"):
        raise ValueError(f"the mod asks for {name!r}, which is unknown")
    begun = time.monotonic() if begun is None else begun
    if name == "failed":
        raise ModError(request["message"])
    if name in ANSWERED_BY:
        module = __import__(f"brimline.mod.{ANSWERED_BY[name]}", None, None, ("respond",))
        answer: dict[str, Any] = module.respond(request, home_dir)
        return answer
    return _answer_compaction(request, home_dir, begun, later)


def _answer_compaction(
    request: dict[str, Any], home_dir: str, begun: float, later: list[put.Record] | None
) -> dict[str, Any]:
    """Move out what can go; pass where the mod may have given up by then."""
    from brimline.mod import compact

    settings = policy.load(home_dir, request["cwd"])

    def is_late() -> bool:
        return time.monotonic() - begun > _LONGEST_BEFORE_LINES_ARE_BARE_S

    answer, freed_tokens = compact.store_cold_and_answer(
        request, home_dir, settings.values, is_late, later
    )
    if "results" not in answer:
        return answer
    answer["thoughts"] = _does_model_bind_thinking(request.get("model"), settings.models)
    seconds = time.monotonic() - begun
    if seconds > _LONGEST_S:
        return {"pass": "it took too long"}
    answer["freed_tokens"] = round(freed_tokens)
    answer["line"] = _line_at_seam(len(answer["results"]), request.get("used_tokens"), freed_tokens)
    _record_moved_out_in_spool(home_dir, request, answer, round(seconds, 2))
    return answer


def _line_at_seam(moved: int, used_tokens: int | None, freed_tokens: float) -> str:
    """Say to the person, on the screen, what became of the session where it was compacted."""
    freed = f"about {round(freed_tokens / 1_000)}k tokens freed"
    if used_tokens:
        left_tokens = max(0, used_tokens - freed_tokens)
        freed = f"{used_tokens / 1_000:.0f}k → {left_tokens / 1_000:.0f}k tokens"
    results = f"{moved:,} old result{'' if moved == 1 else 's'}"
    return (
        f"compacted here, without a model: {freed}. {results} moved out, and a recall brings "
        "each back; every word stays."
    )


def _does_model_bind_thinking(model: Any, rows: Sequence[dict[str, Any]]) -> bool:
    """Tell whether a model's readable thinking is what older ones say as text between calls."""
    return isinstance(model, str) and models.lookup_model_in_rows(model, rows).binds_thinking


class ModError(Exception):
    """What went wrong inside the client, for the error log."""


def _finish_behind_answer(
    home_dir: str, request: dict[str, Any], later: list[put.Record], *, is_compacted: bool
) -> None:
    """Leave the rest to a process of its own: the client waits for the end of this one."""
    if io.system.fork():
        return
    import signal

    signal.alarm(_LONGEST_BEHIND_S)
    io.system.setsid()
    nowhere = io.system.open(b"/dev/null", io.system.O_RDWR)
    for descriptor in range(3):
        io.system.dup2(nowhere, descriptor)
    from brimline.bulk import put

    for record in later:
        put.write_record(record)
    values = policy.load(home_dir, request["cwd"]).values
    if is_compacted and values["carry.enabled"]:
        save_checkpoint(home_dir, request, values)


def save_checkpoint(home_dir: str, request: dict[str, Any], values: dict[str, Any]) -> None:
    """Write down the state of the work, which the client's own way does at PreCompact."""
    from brimline.carry import checkpoint, fold, ledger, links, notes
    from brimline.errors import StateError

    session = request["session"]
    transcript = request.get("transcript") or paths.transcript_of_session(session) or None
    record = ledger.load(home_dir, session)
    try:
        if fold.fold_new_rows(record, transcript, most_bytes=_MOST_BYTES):
            ledger.save(home_dir, record)
        record = notes.merge_notes_into_ledger(home_dir, record)
        checkpoint.build_and_save_document(
            home_dir,
            record,
            trigger=request["trigger"],
            project_dir=request["cwd"],
            transcript=transcript,
            figures={"occupancy": request.get("used_tokens")},
            critical_files=values["carry.critical_files"],
        )
        links.note_or_drop_unfinished_session(home_dir, request["cwd"], record)
    except (OSError, StateError) as error:
        _log_failure(home_dir, error)


def _record_moved_out_in_spool(
    home_dir: str, request: dict[str, Any], answer: dict[str, Any], seconds: float
) -> None:
    """Leave word of the compaction for the hooks that the client calls next, and for the history.

    Raises:
        OSError: it cannot be written; then nothing may be replaced either.
    """
    figures: dict[str, Any] = {"results": len(answer["results"]), "inputs": len(answer["inputs"])}
    figures |= {"freed_tokens": answer["freed_tokens"], "seconds": seconds}
    figures["trigger"] = request["trigger"]
    if request.get("beside"):
        from brimline.bulk import previews

        figures["beside"] = list(map(previews.fingerprint, request["beside"]))
    SessionState(home_dir, request["session"]).spool_event(MOVED_OUT, figures)


def _log_failure(home_dir: str | None, error: BaseException) -> None:
    try:
        from brimline.state import logs

        logs.record_failure(home_dir or paths.data_dir(), "mod", error, "")
    except BaseException:  # noqa: BLE001, S110 - there is nobody left to tell
        pass
