"""The conversations that pass through a gateway: each request as it is to be sent, and its trace.

Whatever fails here, the request goes on as the client sent it, with a line in the error log.
"""

from __future__ import annotations

import contextlib
import copy
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
from brimline.bulk import put
from brimline.compaction import blocks, compactor, stand_ins
from brimline.errors import BrimlineError
from brimline.fast import clock, io
from brimline.gateway.stickiness import Sent
from brimline.gauge import window
from brimline.state import logs
from brimline.state.session import GATEWAY_SAVED, MOD_ALIVE, SessionState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from brimline.compaction.compactor import Outcome, Settings, State
    from brimline.fast.policy import Policy
    from brimline.gateway.stickiness import Stickiness

    _Requests = list[tuple[str, Sent]]

# So many are known at a time; of others only what is on disk.
_MOST_CONVERSATIONS = 64
# For so long a sign of life of our mod counts.
_MOD_SIGN_S = 86_400
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
    names: list[str] = field(default_factory=list)
    """Of its blocks."""
    name: str = ""
    """Of its conversation."""
    session: str = ""
    agent: str = ""
    model: str = ""
    is_large: bool = False
    """Whether a large window was asked for."""
    requests: _Requests = field(default_factory=list)
    """The last ones of its session and agent, of each conversation."""
    known: _Known | None = None
    outcome: Outcome | None = None
    settings: Settings | None = None
    sent: Sent | None = None
    was_refused: bool = False
    fresh: list[list[Any]] = field(default_factory=list)
    """Of each block that is replaced from now on: layer, key and tokens saved."""


class _Known:
    """One of them, as far as this gateway knows it."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.lock = threading.Lock()


class Conversations:
    """What is known of all of them; called from worker threads."""

    def __init__(
        self, home_dir: str, settings: Settings, policy: Policy, stickiness: Stickiness
    ) -> None:
        self._home = home_dir
        self._settings = settings
        self._policy = policy
        self._stickiness = stickiness
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._lock = threading.Lock()

    def prepare_request(self, raw: bytes, headers: Mapping[bytes, bytes]) -> Passing:
        """A request with what the layers say."""
        with self._log_and_swallow_failures():
            passing = Passing(raw, raw)
            self._set_outcome(passing, headers)
            return passing
        return Passing(raw, raw)

    def shorten_refused_in_place(self, passing: Passing, answer: bytes) -> bool:
        """After a refusal: whether there is a shorter form of the request, now in its place."""
        settings, before = passing.settings, passing.outcome
        if settings is None or passing.was_refused:
            return False
        passing.was_refused = True

        def shorter_outcome(state: State) -> Outcome | None:
            find = partial(self._stickiness.adopt_others_stand_ins, conversation=passing.name)
            text = answer.decode("utf-8", "replace")
            outcome = compactor.compact_harder(passing.body, state, settings, text, find)
            if outcome and before:  # all of it is new in this request
                outcome.fresh = before.fresh | outcome.fresh
                outcome.originals = before.originals | outcome.originals
            return outcome

        return self._replace_refused_in_place(passing, shorter_outcome)

    def drop_thinking_in_place(self, passing: Passing) -> bool:
        """After a refusal of thinking: whether there is a form without it, now in its place.

        What is not refused because of our edits is the client's own affair.
        """
        before = passing.outcome
        if before is None:
            return False

        def outcome_without_thinking(state: State) -> Outcome | None:
            return compactor.outcome_without_thinking(passing.body, passing.found, state, before)

        return self._replace_refused_in_place(passing, outcome_without_thinking)

    def _replace_refused_in_place(
        self, passing: Passing, make: Callable[[State], Outcome | None]
    ) -> bool:
        """Put another form in the place of a refused one, where there is any."""
        known = passing.known
        if known is None:
            return False
        with self._log_and_swallow_failures(), known.lock:
            outcome = make(known.state)
            if outcome is not None:
                passing.fresh = []
                self._commit_outcome(passing, known, outcome)
                return True
        return False

    def note_second_refusal(self, passing: Passing) -> None:
        """The shorter form was refused too."""
        if passing.known is not None:
            with passing.known.lock:
                compactor.note_second_refusal(passing.known.state, passing.body)

    def body_as_if_sent(self, raw: bytes, headers: Mapping[bytes, bytes]) -> bytes:
        """A request whose tokens are to be counted, as it would be sent; nothing is kept of it."""
        with self._log_and_swallow_failures():
            passing = Passing(raw, raw)
            if not self._fill_in_conversation(passing, headers):
                return raw
            with self._lock:
                known = self._known.get(passing.name)
            if known is None:
                state = self._state_from_disk(passing)
            else:
                with known.lock:
                    state = copy.deepcopy(known.state)
            outcome = self._apply_layers(passing, state, is_sent=False)
            return _json_bytes_of_body(outcome.body) if outcome.is_changed else raw
        return raw

    def note_answer(self, passing: Passing, usage: Mapping[str, Any] | None) -> None:
        """Learn from what became of a request, and leave a line in the session's spool."""
        if passing.known is None or passing.outcome is None:
            return
        with self._log_and_swallow_failures():
            if usage and passing.outcome.report.kind == "conversation":
                with passing.known.lock:
                    compactor.note_occupancy(passing.known.state, usage)
            if passing.outcome.is_changed:
                self._spool_outcome(passing, passing.outcome, usage or {})

    @contextlib.contextmanager
    def _log_and_swallow_failures(self) -> Iterator[None]:
        """Whatever fails becomes a line in the error log, and the session goes on."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - the top of this door
            self._log_failure(error)

    def _log_failure(self, error: Exception) -> None:
        """One line in the error log, if there is a disk to write it on."""
        with contextlib.suppress(OSError):
            logs.record_failure(self._home, "Gateway", error)

    def _set_outcome(self, passing: Passing, headers: Mapping[bytes, bytes]) -> None:
        if not self._fill_in_conversation(passing, headers):
            return
        known = passing.known = self._load_or_make_known_conversation(passing)
        with known.lock:
            self._decide_and_keep(passing, known)

    def _fill_in_conversation(self, passing: Passing, headers: Mapping[bytes, bytes]) -> bool:
        """Tell whether a request is of a conversation, and of which."""
        body = json.loads(passing.raw, parse_float=_require_exact_float)
        if not isinstance(body, dict) or blocks.is_request_outside_conversation(body):
            return False
        passing.body, passing.found = body, blocks.read_blocks(body) or []
        passing.names = [block.id for block in passing.found]
        passing.session = headers.get(_SESSION_HEADER, b"").decode("latin-1")
        passing.session = passing.session or blocks.session_id_or_hash(body)
        passing.agent = headers.get(_AGENT_HEADER, b"").decode("latin-1")
        passing.model = str(body.get("model"))
        passing.is_large = b"context-1m" in headers.get(b"anthropic-beta", b"")
        passing.requests = self._stickiness.last_requests(f"{passing.session}/{passing.agent}")
        passing.name = self._continued_or_new_name(passing)
        return True

    def _decide_and_keep(self, passing: Passing, known: _Known) -> None:
        state = known.state
        made = self._resent_outcome(passing)
        outcome = made or self._apply_layers(passing, state)
        try:
            self._commit_outcome(passing, known, outcome)
        except (OSError, sqlite3.Error, BrimlineError) as error:
            # A full disk, a locked file: what stands in already goes on to do so.
            self._log_failure(error)
            passing.outcome = compactor.rebuild_sent_request(
                passing.body, passing.found, state.standing, None
            )
            if passing.outcome.is_changed:
                passing.raw = _json_bytes_of_body(passing.outcome.body)

    def _resent_outcome(self, passing: Passing) -> Outcome | None:
        """The bytes that were sent for the same request: after a restart, or asked once more."""
        before = _find_identical_request(passing.requests, passing.original)[1]
        if before is None:
            return None
        standing = self._stickiness.sent_stand_ins(passing.names, passing.name, before.number)
        passing.sent = before._replace(at=clock.now_s())
        return compactor.rebuild_sent_request(passing.body, passing.found, standing, before.marked)

    def _apply_layers(self, passing: Passing, state: State, *, is_sent: bool = True) -> Outcome:
        """Return what the layers make of a request that was not sent before."""
        find = partial(
            self._stickiness.adopt_others_stand_ins, conversation=passing.name, is_sent=is_sent
        )
        passing.settings = self._layer_settings_for(passing, state)
        outcome = compactor.compact(
            passing.body, state, passing.settings, lookup=find, found=passing.found
        )
        if outcome.report.kind in ("conversation", "compaction"):
            told, line = _hash_bytes(passing.original), state.sent or []
            passing.sent = Sent(told, len(line), _hash_block_ids(line), None, clock.now_s())
        return outcome

    def _layer_settings_for(self, passing: Passing, state: State) -> Settings:
        """Return how hard the layers are for this model, near this session's brim."""
        policy = self._policy
        model = self._lookup_model(passing)
        session = SessionState(self._home, passing.session)
        snapshot = None if passing.agent else session.snapshot()
        size = window.resolve_window(
            policy,
            model,
            statusline=snapshot.window_tokens if snapshot else None,
            observed=None,
            occupancy_tokens=state.prompt_tokens,
            requested_model="[1m]" if passing.is_large else None,
        )
        point = window.resolve_compaction_point(policy, size, model, None, None)
        # A model that the client does not compact has the same room, up to the same point.
        usual = size.tokens - model.reserve_tokens
        brim = point.tokens if point.ending == "compaction" else min(point.tokens, usual)
        return replace(
            self._settings,
            brim_tokens=None if _does_mod_compact(session) else brim,
            token_factor=_token_factor_of_model(model),
            is_bound=model.binds_thinking,
        )

    def _lookup_model(self, passing: Passing) -> models.Model:
        return models.lookup_model_in_rows(passing.model, self._policy.models)

    def _continued_or_new_name(self, passing: Passing) -> str:
        """The conversation whose last request is the beginning of this one; else a new one.

        Several may have one session and agent: what an SDK runs side by side, forks, a conversation
        before and after its compaction. What one of them has sent is warm for that one only.
        """
        same, _ = _find_identical_request(passing.requests, passing.original)
        if same:
            return same
        last = dict(reversed(passing.requests))
        for name in sorted(last, key=lambda name: (-last[name].blocks, -last[name].at)):
            if last[name].prefix == _hash_block_ids(passing.names[: last[name].blocks]):
                return name
        base = f"{passing.session}/{passing.agent}"
        return f"{base}#{_hash_block_ids(passing.names)}" if last else base

    def _load_or_make_known_conversation(self, passing: Passing) -> _Known:
        """Return what is known of it, here or on disk."""
        passing.name = self._continued_or_new_name(passing)
        is_on_disk = passing.name in dict(passing.requests)
        with self._lock:
            known = self._known.pop(passing.name, None)
            if known is None or not is_on_disk:  # new here, or forgotten meanwhile
                known = _Known(self._state_from_disk(passing))
            self._known[passing.name] = known
            while len(self._known) > _MOST_CONVERSATIONS:
                self._known.popitem(last=False)
            return known

    def _state_from_disk(self, passing: Passing) -> State:
        """What is on disk of a conversation, or of the one that it goes on from."""
        state = compactor.State()
        if passing.requests:
            last, newest = dict(reversed(passing.requests)), passing.requests[0][1]
            self._restore_state_from_last_request(passing, state, last.get(passing.name, newest))
        return state

    def _restore_state_from_last_request(self, passing: Passing, state: State, last: Sent) -> None:
        """Take over what a conversation has sent, and with what in the place of which."""
        names = passing.names[: last.blocks]
        if names and _hash_block_ids(names) == last.prefix:
            state.sent = names
            standing = self._stickiness.sent_stand_ins(names, passing.name)
            state.standing = dict.fromkeys(names) | standing

    def _commit_outcome(self, passing: Passing, known: _Known, outcome: Outcome) -> None:
        """Keep what is new before it is sent; where that fails, nothing of it is."""
        try:
            for block in outcome.originals.values():
                self._store_original_block(block, passing)
            if passing.sent:
                sent = passing.sent._replace(marked=outcome.marked)
                number = self._stickiness.record_request(passing.name, sent, outcome.fresh)
                passing.sent = sent._replace(number=number)
        except BaseException:
            compactor.undo_fresh_stand_ins(known.state, outcome)
            raise
        passing.outcome = outcome
        factor = _token_factor_of_model(self._lookup_model(passing))
        passing.fresh += [
            [one.layer, one.key, round((outcome.originals[one.key].tokens - one.tokens) * factor)]
            for one in outcome.fresh.values()
            if one.key in outcome.originals  # else noted before this request was refused
        ]
        if outcome.is_changed:
            passing.raw = _json_bytes_of_body(outcome.body)

    def _store_original_block(self, block: blocks.Block, passing: Passing) -> None:
        meta = {
            "tool": block.tool or block.kind,
            "source": stand_ins.subject_of_block(block) or None,
            "session": passing.session or None,
        }
        # The client has it too, in its transcript: a power cut may take this copy.
        data = stand_ins.bytes_to_store(block.text)
        put.put(self._home, data, meta, is_last=False, is_synced=False)

    def _spool_outcome(self, passing: Passing, outcome: Outcome, usage: Mapping[str, Any]) -> None:
        report, factor = outcome.report, _token_factor_of_model(self._lookup_model(passing))
        saved = round((report.original_tokens - report.sent_tokens) * factor)
        prompt_tokens = blocks.prompt_tokens_of_usage(usage)
        fields = {"ms": 0.0, "kind": report.kind, "saved": saved}
        told = {"fresh": passing.fresh, "agent": passing.agent, "prompt": prompt_tokens}
        fields |= {name: value for name, value in told.items() if value}
        if report.rewritten_tokens:
            fields |= {"broke": report.reason, "rewritten": round(report.rewritten_tokens * factor)}
        if passing.session:
            state = SessionState(self._home, passing.session)
            state.spool_event("Gateway", fields)
            if not passing.agent and report.kind == "conversation":
                figures = f"{saved} {prompt_tokens}"
                io.replace_file(f"{state.folder}/{GATEWAY_SAVED}", figures.encode())


def _find_identical_request(requests: _Requests, raw: bytes) -> tuple[str, Sent | None]:
    """The same request as it was sent before, and its conversation."""
    told = _hash_bytes(raw)
    return next(((name, sent) for name, sent in requests if sent.hash == told), ("", None))


def _does_mod_compact(session: SessionState) -> bool:
    """Tell whether our mod is alive in the client and compacts there by itself."""
    sign = session.read_document(MOD_ALIVE)
    at = sign.get("at")
    is_young = isinstance(at, int | float) and abs(clock.now_s() - at) < _MOD_SIGN_S
    return is_young and sign.get("inside", "off") != "off"


def _token_factor_of_model(model: models.Model) -> float:
    """Return how many tokens a model makes of what is estimated as one."""
    return models.MOST_CHARACTERS_PER_TOKEN / model.characters_per_token


def _hash_block_ids(names: list[str]) -> str:
    return _hash_bytes("".join(names).encode())


def _hash_bytes(raw: bytes) -> str:
    return hashlib.blake2b(raw, digest_size=16).hexdigest()


def _require_exact_float(text: str) -> float:
    """A number that is sent as it came.

    Raises:
        ValueError: no float is exactly that.
    """
    found = float(text)
    if Decimal(repr(found)) != Decimal(text):
        raise ValueError(f"{text[:40]} cannot be said as a float")
    return found


def _json_bytes_of_body(body: Any) -> bytes:
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which only an escape can say
        return json.dumps(body, separators=(",", ":")).encode()
