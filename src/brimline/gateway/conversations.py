"""The conversations that pass through a gateway: each request as it is to be sent, and its trace.

Whatever fails here, the request goes on as the client sent it, with a line in the error log.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

from brimline import models
from brimline.compaction import blocks, compactor, stand_ins
from brimline.errors import BrimlineError
from brimline.fast import io
from brimline.gateway.stickiness import Sent
from brimline.gauge import window
from brimline.state import logs
from brimline.state.session import GATEWAY_SAVED, SessionState
from brimline.store import put

if TYPE_CHECKING:
    from collections.abc import Mapping

    from brimline.compaction.compactor import Outcome, Settings, State
    from brimline.compaction.stand_ins import StandIn
    from brimline.gateway.stickiness import Stickiness

    _Requests = list[tuple[str, Sent]]

# So many are known at a time; of others only what is on disk.
_MOST_CONVERSATIONS = 64
_SESSION_HEADER, _AGENT_HEADER = b"x-claude-code-session-id", b"x-claude-code-agent-id"


@dataclass
class Passing:
    """A request on its way."""

    raw: bytes
    """As it is to be sent."""
    original: bytes
    """As the client sent it."""
    body: Any = None
    found: list[blocks.Block] = field(default_factory=list)
    name: str = ""
    """Of its conversation."""
    session: str = ""
    agent: str = ""
    known: _Known | None = None
    outcome: Outcome | None = None
    settings: Settings | None = None
    sent: Sent | None = None
    was_refused: bool = False
    fresh: list[list[Any]] = field(default_factory=list)
    """Of each block that is replaced from now on: layer, key and tokens saved."""


class _Known:
    def __init__(self, state: State) -> None:
        self.state = state
        self.lock = threading.Lock()


class Conversations:
    """What is known of all of them; called from worker threads."""

    def __init__(self, home_dir: str, settings: Settings, stickiness: Stickiness) -> None:
        self._home = home_dir
        self._settings = settings
        self._stickiness = stickiness
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._bound: set[str] = set()
        self._lock = threading.Lock()

    def prepare(self, raw: bytes, headers: Mapping[bytes, bytes], now: float) -> Passing:
        """A request with what the layers say."""
        passing = Passing(raw, raw)
        try:
            self._prepare(passing, headers, now)
        except Exception as error:  # noqa: BLE001 - the session goes on
            self.failed(error)
            return Passing(raw, raw)
        return passing

    def harder(self, passing: Passing, answer: bytes) -> bool:
        """After a refusal: whether there is a shorter form of the request, now in its place."""
        if passing.known is None or passing.settings is None or passing.was_refused:
            return False
        passing.was_refused = True
        try:
            with passing.known.lock:
                outcome = compactor.refused(
                    passing.body,
                    passing.known.state,
                    passing.settings,
                    answer.decode("utf-8", "replace"),
                    partial(self._stickiness.find, conversation=passing.name),
                )
                if outcome is None:
                    return False
                if passing.outcome:  # all of it is new in this request
                    outcome.fresh = passing.outcome.fresh | outcome.fresh
                    outcome.originals = passing.outcome.originals | outcome.originals
                    passing.fresh = []
                self._adopt(passing, outcome)
        except Exception as error:  # noqa: BLE001
            self.failed(error)
            return False
        return True

    def take_back(self, passing: Passing) -> bool:
        """After a refusal of thinking that was made without our edits: whether some are undone.

        Its model is known for that from now on.
        """
        known, outcome, sent = passing.known, passing.outcome, passing.sent
        if known is None or outcome is None or sent is None or sent.number is None:
            return False
        try:
            with known.lock:
                self._bound.add(str(passing.body.get("model")))
                gone = compactor.before_thinking(passing.body, outcome)
                self._stickiness.take_back(passing.name, sent.number, gone)
                standing = self._standing(passing, sent.number)
                known.state.standing |= {name: standing.get(name) for name in gone}
                passing.raw = passing.original
                outcome = compactor.again(passing.body, passing.found, standing, None)
                self._adopt(passing, outcome)
        except Exception as error:  # noqa: BLE001
            self.failed(error)
            return False
        return bool(gone)

    def gave_up(self, passing: Passing) -> None:
        """The shorter form was refused too."""
        if passing.known is not None:
            with passing.known.lock:
                compactor.gave_up(passing.known.state, passing.body)

    def answered(self, passing: Passing, usage: Mapping[str, Any] | None) -> None:
        """What became of a request: learn from it, and leave a line in the session's spool."""
        if passing.known is None or passing.outcome is None:
            return
        try:
            with passing.known.lock:
                if usage and passing.outcome.report.kind == "conversation":
                    compactor.observe(passing.known.state, passing.body, usage)
            if passing.outcome.is_changed:
                self._note(passing, passing.outcome, usage or {})
        except Exception as error:  # noqa: BLE001
            self.failed(error)

    def failed(self, error: BaseException) -> None:
        """One line in the error log, if there is a disk to write it on."""
        try:
            logs.record_failure(self._home, "Gateway", error)
        except OSError:
            pass

    def _prepare(self, passing: Passing, headers: Mapping[bytes, bytes], now: float) -> None:
        body = json.loads(passing.raw, parse_float=_number)
        if not isinstance(body, dict) or blocks.is_helper(body):
            return
        passing.body, passing.found = body, blocks.read(body) or []
        passing.session = headers.get(_SESSION_HEADER, b"").decode("latin-1")
        passing.session = passing.session or blocks.session_of(body)
        passing.agent = headers.get(_AGENT_HEADER, b"").decode("latin-1")
        requests = self._stickiness.requests(f"{passing.session}/{passing.agent}")
        passing.known = self._conversation(passing, requests)
        state = passing.known.state
        size = window.resolve_window(
            configured=None,
            statusline=None,
            client={},
            observed=None,
            occupancy_tokens=state.prompt_tokens,
            model=models.lookup(str(body.get("model"))),
            requested_model="[1m]" if b"context-1m" in headers.get(b"anthropic-beta", b"") else "",
        )
        is_bound = str(body.get("model")) in self._bound
        passing.settings = replace(self._settings, window_tokens=size.tokens, is_bound=is_bound)
        with passing.known.lock:
            outcome = self._again(passing, state, requests, now)
            outcome = outcome or self._edited(passing, state, passing.settings, now)
            try:
                self._adopt(passing, outcome)
            except (OSError, sqlite3.Error, BrimlineError) as error:
                # A full disk, a locked file: what stands in already goes on to do so.
                self.failed(error)
                passing.outcome = compactor.again(passing.body, passing.found, state.standing, None)
                if passing.outcome.is_changed:
                    passing.raw = _to_bytes(passing.outcome.body)

    def _again(
        self, passing: Passing, state: State, requests: _Requests, now: float
    ) -> Outcome | None:
        """The bytes that were sent for the same request: after a restart, or asked once more."""
        before = _same(requests, passing.raw)[1]
        if before is None:
            return None
        standing = self._standing(passing, before.number)
        state.at = now
        passing.sent = before._replace(at=now)
        return compactor.again(passing.body, passing.found, standing, before.marked)

    def _standing(self, passing: Passing, number: int | None) -> Mapping[str, StandIn]:
        names = [block.id for block in passing.found]
        return self._stickiness.sent_with(names, passing.name, number)

    def _edited(self, passing: Passing, state: State, settings: Settings, now: float) -> Outcome:
        """What the layers make of a request that was not sent before."""
        find = partial(self._stickiness.find, conversation=passing.name)
        outcome = compactor.compact(
            passing.body, state, settings, now=now, lookup=find, found=passing.found
        )
        if outcome.report.kind in ("conversation", "compaction"):
            told, line = _hash(passing.raw), state.sent or []
            passing.sent = Sent(told, len(line), _line(line), None, state.lifetime_s, now)
        return outcome

    def _conversation(self, passing: Passing, requests: _Requests) -> _Known:
        """The one whose last request is the beginning of this one; else a new one.

        Several may have one session and agent: what an SDK runs side by side, forks, a conversation
        before and after its compaction. What one of them has sent is warm for that one only.
        """
        names = [block.id for block in passing.found]
        last = dict(reversed(requests))
        longest = sorted(last, key=lambda name: (-last[name].blocks, -last[name].at))
        goes_on = (one for one in longest if last[one].prefix == _line(names[: last[one].blocks]))
        name = _same(requests, passing.raw)[0] or next(goes_on, "")
        with self._lock:
            known = self._known.pop(name, None)
            if known is None and name:
                known = _Known(self._remembered(name, names, last[name]))
            elif known is None:
                others = [self._known[one].state for one in last if one in self._known]
                known = _Known(_parted(others, names, requests))
                name = f"{passing.session}/{passing.agent}"
                name += f"#{_line(names)}" if requests else ""
            passing.name, self._known[name] = name, known
            while len(self._known) > _MOST_CONVERSATIONS:
                self._known.popitem(last=False)
            return known

    def _remembered(self, name: str, names: list[str], last: Sent) -> State:
        """What is on disk of a conversation: what it sent, and with what in the place of which."""
        state = _idle(last)
        names = names[: last.blocks]
        if names and _line(names) == last.prefix:
            state.sent = names
            state.standing = dict.fromkeys(names) | self._stickiness.sent_with(names, name)
        return state

    def _adopt(self, passing: Passing, outcome: Outcome) -> None:
        """Keep what is new before it is sent; where that fails, nothing of it is."""
        if passing.known is None:
            return
        try:
            for block in outcome.originals.values():
                self._store(block, passing)
            if passing.sent:
                sent = passing.sent._replace(marked=outcome.marked)
                number = self._stickiness.keep(passing.name, sent, outcome.fresh)
                passing.sent = sent._replace(number=number)
        except BaseException:
            compactor.undo(passing.known.state, outcome)
            raise
        passing.outcome = outcome
        passing.fresh += [
            [one.layer, one.key, round(outcome.originals[one.key].tokens - one.tokens)]
            for one in outcome.fresh.values()
            if one.key in outcome.originals  # else noted before this request was refused
        ]
        if outcome.is_changed:
            passing.raw = _to_bytes(outcome.body)

    def _store(self, block: blocks.Block, passing: Passing) -> None:
        meta = {
            "tool": block.tool or block.kind,
            "source": stand_ins.subject_of(block) or None,
            "session": passing.session or None,
        }
        # The client has it too, in its transcript: a power cut may take this copy.
        data = stand_ins.to_bytes(block.text)
        put.put(self._home, data, meta, is_last=False, is_synced=False)

    def _note(self, passing: Passing, outcome: Outcome, usage: Mapping[str, Any]) -> None:
        report = outcome.report
        fields: dict[str, Any] = {
            "ms": 0.0,
            "kind": report.kind,
            "saved": round(report.original_tokens - report.sent_tokens),
            "layers": [[one.layer, one.outcome, one.blocks, round(one.saved_tokens)]
                       for one in report.layers if one.outcome not in ("nothing", "off")],
        }  # fmt: skip
        if passing.fresh:
            fields["fresh"] = passing.fresh
        if passing.agent:
            fields["agent"] = passing.agent
        if report.rewritten_tokens:
            fields |= {"broke": report.reason, "rewritten": round(report.rewritten_tokens)}
        if blocks.prompt_tokens(usage):
            fields["prompt"] = blocks.prompt_tokens(usage)
        if passing.session:
            state = SessionState(self._home, passing.session)
            state.add_line("Gateway", fields)
            if not passing.agent and report.kind == "conversation":
                told = f"{fields['saved']} {blocks.prompt_tokens(usage)}"
                io.replace_file(f"{state.folder}/{GATEWAY_SAVED}", told.encode())


def _same(requests: _Requests, raw: bytes) -> tuple[str, Sent | None]:
    """The same request as it was sent before, and its conversation."""
    told = _hash(raw)
    return next(((name, sent) for name, sent in requests if sent.hash == told), ("", None))


def _parted(others: list[State], names: list[str], requests: _Requests) -> State:
    """The state of a new conversation, by that of the one with which it has most in common."""
    if others:
        most = max(others, key=lambda state: compactor.shared(names, state.sent or []))
        return compactor.branch(most)
    return _idle(requests[0][1]) if requests else compactor.State()


def _idle(last: Sent) -> State:
    return compactor.State(at=last.at, lifetime_s=last.lifetime_s)


def _line(names: list[str]) -> str:
    return _hash("".join(names))


def _hash(told: str | bytes) -> str:
    raw = told.encode() if isinstance(told, str) else told
    return hashlib.blake2b(raw, digest_size=16).hexdigest()


def _number(text: str) -> float:
    """A number that is sent as it came.

    Raises:
        ValueError: no float is exactly that.
    """
    found = float(text)
    if Decimal(repr(found)) != Decimal(text):
        raise ValueError(f"{text[:40]} cannot be said as a float")
    return found


def _to_bytes(body: Any) -> bytes:
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which only an escape can say
        return json.dumps(body, separators=(",", ":")).encode()
