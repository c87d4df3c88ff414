"""The layers applied to a conversation, request by request: `compact`, `compact_harder`. Pure.

    state = State()
    outcome = compact(body, state, Settings())
    answer = send(outcome.body)
    note_occupancy(state, answer["usage"])

`stand_ins` has what is said in the place of a block, this module when: each layer at most once per
request, after a refusal for the length once more, harder. What arrives is shown as a preview, at no
price; what was sent is edited in one pass near the brim or not at all, since an edit costs the
cache behind it, and on most models all thinking there. What was replaced stays replaced by the same
bytes: `outcome.fresh` is to be kept by whoever wants that to hold after a restart, and given back
through `lookup`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from brimline.bulk import cold, judge
from brimline.bulk.judge import Rules
from brimline.compaction import blocks, stand_ins
from brimline.transcript import clienttools

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from brimline.compaction.blocks import Block
    from brimline.compaction.stand_ins import StandIn

    Lookup = Callable[[list[str]], Mapping[str, StandIn]]

_TOO_LONG = re.compile(r"prompt is too long(?::\s*(\d+)\s*tokens?\s*>\s*(\d+))?")
# Of what a refusal allows.
_ROOM_RATIO = 0.95
# What is tried where a refusal names no figures.
_LESS_RATIO = 0.9
# What goes near the brim: harder than a compaction without a model, as no other comes before it.
_NEAR_BRIM = cold.Rule(
    share=0.0,
    warm_calls=3,
    long_characters=600,
    inputs_from=5,
    input_characters=450,
    hot_calls=3,
    long_old_characters=400,
)
# After a refusal: so many of the last calls stay whole, whatever they are.
_REACTIVE_HOT = (8, 4, 1)
_REACTIVE_CHARACTERS = 800


@dataclass(frozen=True)
class Settings:
    """How hard the layers are."""

    has_previews: bool = True
    """Whether what arrives is shown as a preview where it is bulk."""
    brim_tokens: int | None = 167_000
    """Where the client would compact; None where somebody else sees to that."""
    near_brim_ratio: float = 0.9
    """From here on the brim is near."""
    rule: cold.Rule = _NEAR_BRIM
    """What goes near the brim."""
    hot_requests: int = 3
    """What so many of the last requests brought stays then, however many calls they made."""
    worth_ratio: float = 0.2
    """What that pass has to free, of what is sent."""
    arriving_ratio: float = 0.8
    """Of `rules.read_bytes`, for what arrives: that alone can be edited at no price."""
    token_factor: float = 1.0
    """How many tokens the model makes of what is estimated as one."""
    is_bound: bool = False
    """Whether the model takes back its thinking only with nothing changed before it."""
    rules: Rules = field(default_factory=Rules)
    """The user's settings of what is kept out; what `never` names stays for good."""


@dataclass
class State:
    """What is known of one conversation; all of it can be lost but for what stands in."""

    standing: dict[str, StandIn | None] = field(default_factory=dict)
    """By block; None where there is known to be nothing."""
    sent: list[str] | None = None
    """The blocks of the last request."""
    prompt_tokens: int | None = None
    """What the last request took of the window."""
    estimated_tokens: float = 0.0
    """What its blocks were estimated at."""
    refused_tokens: float | None = None
    """The breaker of the retry: open while the conversation is not smaller than this."""


@dataclass
class Report:
    """What became of a request."""

    kind: str
    """`conversation`, `compaction`, `helper` or `unknown`."""
    reason: str = ""
    """Why an edit of what was sent before was made: `brim` or `refused`."""
    rewritten_tokens: float = 0.0
    """What the cache has to write again because of it."""
    original_tokens: float = 0.0
    sent_tokens: float = 0.0


@dataclass
class Outcome:
    """A request as it is to be sent, and what is new about it."""

    body: Any
    report: Report
    fresh: dict[str, StandIn] = field(default_factory=dict)
    """What stands in for blocks from now on."""
    former: dict[str, StandIn | None] = field(default_factory=dict)
    """What stood in for them before."""
    originals: dict[str, Block] = field(default_factory=dict)
    """The same blocks, by the key under which the store is to keep their text."""
    is_changed: bool = False
    marked: int | None = None
    """The block before which the cache is to be looked up, where one that was sent changed."""


def compact(
    body: Any,
    state: State,
    settings: Settings,
    *,
    lookup: Lookup | None = None,
    found: list[Block] | None = None,
) -> Outcome:
    """Apply what is free, and near the brim what is cold.

    Args:
        body: a request; it is not changed.
        state: of its conversation; it is.
        settings: how hard.
        lookup: what stands in for blocks that this state does not know.
        found: its blocks, where they were read before.
    """
    if not isinstance(body, dict) or blocks.is_request_outside_conversation(body):
        return Outcome(body, Report("helper"))
    found = found or blocks.read_blocks(body)
    if found is None:
        return Outcome(body, Report("unknown"))
    _note_known_stand_ins(state, found, lookup)
    case = _Case(body, found, state, settings)
    if blocks.asks_for_summary(found):
        return case.apply_drafts_and_make_outcome("compaction")
    case.draft_stand_ins()
    reason, cut = case.choose_reason_and_first_block()
    outcome = case.apply_drafts_and_make_outcome("conversation", reason, cut)
    state.sent = [block.id for block in found]
    state.estimated_tokens = outcome.report.sent_tokens
    if state.refused_tokens is not None and outcome.report.original_tokens < state.refused_tokens:
        state.refused_tokens = None
    return outcome


def rebuild_sent_request(
    body: Any, found: list[Block], standing: Mapping[str, StandIn | None], marked: int | None
) -> Outcome:
    """A request that was sent before, with what stood in then and its marker: the same bytes."""
    case = _Case(body, found, State(standing=dict(standing)), Settings())
    tokens = sum(block.tokens for block in found)
    outcome = Outcome(body, Report("conversation", "", 0.0, tokens, case.sent_tokens))
    case.put_stand_ins_into_outcome(outcome, marked)
    return outcome


def note_occupancy(state: State, usage: Mapping[str, Any]) -> None:
    """Learn what a request took of the window from its answer."""
    state.prompt_tokens = blocks.prompt_tokens_of_usage(usage) or state.prompt_tokens


def compact_harder(
    body: Any, state: State, settings: Settings, message: str, lookup: Lookup | None = None
) -> Outcome | None:
    """Make the request again, harder, after the service called it too long.

    None where it was not refused for its length, where nothing can be taken out, or where the
    breaker is open. A second refusal is told by `note_second_refusal`.
    """
    refusal = _TOO_LONG.search(message)
    is_open = state.refused_tokens is not None
    if refusal is None or is_open or blocks.is_request_outside_conversation(body):
        return None
    history = blocks.read_blocks(body)
    if history is None:
        return None
    _note_known_stand_ins(state, history, lookup)
    case = _Case(body, history, state, settings)
    before = case.sent_tokens
    wanted = before * _LESS_RATIO
    if refusal[1] and refusal[2]:
        used, allowed = int(refusal[1]), int(refusal[2])
        wanted = before - (used - allowed * _ROOM_RATIO) * min(1.0, before / used)
    for hot in _REACTIVE_HOT:
        hard = cold.Rule(0.0, hot, _REACTIVE_CHARACTERS, hot, _REACTIVE_CHARACTERS, hot)
        case.draft_stand_ins(hard)
        if before - sum(map(case.tokens_one_draft_saves, case.drafts)) <= wanted:
            break
    outcome = case.apply_drafts_and_make_outcome("conversation", "refused")
    return outcome if outcome.fresh else None


def note_second_refusal(state: State, body: Any) -> None:
    """The harder request was refused too: not again before the conversation has shrunk."""
    state.refused_tokens = sum(block.tokens for block in blocks.read_blocks(body) or ())


def undo_fresh_stand_ins(state: State, outcome: Outcome) -> None:
    """Take back stand-ins that could not be kept: they must not be sent."""
    for name in outcome.fresh:
        state.standing[name] = outcome.former.get(name)


def outcome_without_thinking(
    body: Any, found: list[Block], state: State, outcome: Outcome
) -> Outcome | None:
    """The request again, without any thinking.

    None where nothing of ours is in it, or no thinking is left.
    """
    case = _Case(body, found, state, Settings())
    thoughts = case.leave_out_thinking_from(0) if outcome.is_changed else {}
    if not thoughts:
        return None
    again = replace(outcome, fresh=outcome.fresh | thoughts)
    case.put_stand_ins_into_outcome(again, outcome.marked)
    return again


def count_common_leading_blocks(names: list[str], others: list[str]) -> int:
    """Return how many blocks two requests begin with alike."""
    pairs = enumerate(zip(names, others, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(names), len(others)))


def _note_known_stand_ins(state: State, history: list[Block], lookup: Lookup | None) -> None:
    """Look up known stand-ins, except for text the model has not answered yet."""
    unknown = [block for block in history if block.id not in state.standing]
    wanted_ids = [block.id for block in unknown if block.call or block.step < history[-1].step]
    texts = lookup(wanted_ids) if lookup and wanted_ids else {}
    for block in unknown:
        state.standing[block.id] = texts.get(block.id)


class _Case:
    """One request, and what might be done about it."""

    def __init__(self, body: Any, found: list[Block], state: State, settings: Settings) -> None:
        self.body, self.found, self.state, self.settings = body, found, state, settings
        self.tokens = [(state.standing.get(block.id) or block).tokens for block in found]
        self.sent_tokens = sum(self.tokens)
        self.warm = 0
        self.drafts: dict[int, StandIn] = {}
        self.cold: stand_ins.Cold | None = None
        read_bytes = int(settings.arriving_ratio * settings.rules.read_bytes)
        self.rules = settings.rules._replace(read_bytes=read_bytes)

    def draft_stand_ins(self, hard: cold.Rule | None = None) -> None:
        """Draft what each block might be replaced by: what arrives, and near the brim what is cold.

        Args:
            hard: the rule after a refusal, where what was sent is held to it.
        """
        self.warm = self._count_sent_before()
        first = 0 if hard else self._first_behind_sent_and_thinking()
        is_asked = self.settings.has_previews or hard
        for position in range(first, len(self.found)) if is_asked else ():
            self._draft_preview(position, is_hard=hard is not None)
        if hard or self._is_near_brim():
            self.cold = stand_ins.Cold(self.found, self.state.standing, hard or self.settings.rule)
            lines, hot = self.cold.bare(), 1 if hard else self.settings.hot_requests
            old = [at for at in lines if self.found[-1].step - self.found[at].step >= hot]
            self.drafts |= {at: lines[at] for at in old if self._may_block_be_changed(at)}

    def _draft_preview(self, position: int, *, is_hard: bool) -> None:
        """A preview of what is bulk, when it arrives; after a refusal also of what is long."""
        block = self.found[position]
        is_new = position >= self.warm and not self._is_repeat_of_replaced_call(position)
        is_whole = block.kind == blocks.RESULT and not self.state.standing.get(block.id)
        if is_whole and (is_new or is_hard) and self._may_block_be_changed(position):
            preview = stand_ins.preview_stand_in(
                block, self._was_path_edited, self.rules, was_read=is_hard
            )
            if preview:
                self.drafts[position] = preview

    def _was_path_edited(self, path: str) -> bool:
        """Tell whether a call changed a file, which a command may name without its folder."""
        ending = "/" + path.removeprefix("./")
        edited = (
            clienttools.file_of_call(block.arguments)
            for block in self.found
            if block.kind == blocks.CALL and block.tool in clienttools.EDITING
        )
        return any(path == changed or changed.endswith(ending) for changed in edited)

    def _may_block_be_changed(self, position: int) -> bool:
        """Tell whether any layer may be asked about a block."""
        block = self.found[position]
        standing = self.state.standing.get(block.id)
        if block.kind == blocks.OTHER or (standing and standing.layer != stand_ins.PREVIEWS):
            return False
        return not judge.does_call_match_any(self.settings.rules.never, block.tool, block.arguments)

    def choose_reason_and_first_block(self) -> tuple[str, int]:
        """Return why and from which block on drafts are applied; what arrives is free."""
        free = self._first_behind_sent_and_thinking()
        waiting = [position for position in self.drafts if position < free]
        if not waiting or not self._is_near_brim():
            return "", free
        freed = sum(map(self.tokens_one_draft_saves, waiting))
        behind = range(waiting[0], len(self.found))
        if self.settings.is_bound:
            freed += sum(self.tokens[at] for at in behind if self.found[at].is_thinking)
        is_worth_it = freed >= self.settings.worth_ratio * self.sent_tokens
        return ("brim", waiting[0]) if is_worth_it else ("", free)

    def _first_behind_sent_and_thinking(self) -> int:
        """The first block behind what was sent, and behind all thinking."""
        return max(self.warm, blocks.position_behind_last_thinking(self.found))

    def leave_out_thinking_from(self, first: int) -> dict[str, StandIn]:
        """Let go of thinking that is made invalid by an edit of this block."""
        thoughts: dict[str, StandIn] = {}
        for at, block in enumerate(self.found):
            if at >= first and block.is_thinking and not self.state.standing.get(block.id):
                thoughts[block.id] = self.state.standing[block.id] = stand_ins.LEFT_OUT
                self.tokens[at] = 0.0
        return thoughts

    def apply_drafts_and_make_outcome(self, kind: str, reason: str = "", cut: int = 0) -> Outcome:
        """The request with what stands in already, and what is applied now from `cut` on."""
        report = Report(kind, original_tokens=sum(block.tokens for block in self.found))
        outcome = Outcome(self.body, report)
        applied = [at for at in self.drafts if at >= cut]
        if self.cold and reason:
            self.drafts |= self.cold.filled(self.drafts)
        first = min(applied, default=self.warm)
        for at in applied:
            block, draft, standing = self.found[at], self.drafts[at], self.state.standing
            outcome.former[block.id] = standing.get(block.id)
            outcome.fresh[block.id] = standing[block.id] = draft
            outcome.originals[draft.key] = block
            self.tokens[at] = draft.tokens
        if applied and self.settings.is_bound:
            outcome.fresh |= self.leave_out_thinking_from(first)
        report.sent_tokens = sum(self.tokens)
        report.rewritten_tokens = sum(self.tokens[first : self.warm])
        if first < self.warm:
            report.reason = reason
        self.put_stand_ins_into_outcome(outcome, first if first < self.warm else None)
        return outcome

    def put_stand_ins_into_outcome(self, outcome: Outcome, marked: int | None) -> None:
        """Put what stands in into the request, and a marker before this block."""
        fields, thoughts = {}, []
        for block in self.found:
            standing = self.state.standing.get(block.id)
            if standing and standing.fields is None:
                thoughts.append(block)
            elif standing:
                fields[block.message, block.place] = standing.fields
        if not fields and not thoughts:
            return
        outcome.body, outcome.is_changed = blocks.body_with_replaced_fields(self.body, fields), True
        if marked is not None:
            outcome.body, outcome.marked = (
                blocks.body_with_cache_until(outcome.body, self.found, marked),
                marked,
            )
        if thoughts:
            outcome.body = blocks.body_without_given_thoughts(outcome.body, thoughts)

    def tokens_one_draft_saves(self, position: int) -> float:
        return self.tokens[position] - self.drafts[position].tokens

    def _count_sent_before(self) -> int:
        """Return how many leading blocks the cache may hold: those that were sent before."""
        sent = self.state.sent
        if sent is None:
            # Nothing is known of earlier requests: all but what followed the last reply.
            replies = [at for at, block in enumerate(self.found) if block.role == "assistant"]
            return replies[-1] + 1 if replies else 0
        return count_common_leading_blocks([block.id for block in self.found], sent)

    def _is_near_brim(self) -> bool:
        state, settings = self.state, self.settings
        if state.prompt_tokens is None or settings.brim_tokens is None:
            return False
        grown = (self.sent_tokens - state.estimated_tokens) * settings.token_factor
        return state.prompt_tokens + grown >= settings.near_brim_ratio * settings.brim_tokens

    def _is_repeat_of_replaced_call(self, position: int) -> bool:
        """Tell whether the last result of the same call is not shown whole."""
        call = self.found[position].tool, self.found[position].arguments
        for earlier in reversed(self.found[:position]):
            if earlier.kind == blocks.RESULT and (earlier.tool, earlier.arguments) == call:
                return self.state.standing.get(earlier.id) is not None
        return False
