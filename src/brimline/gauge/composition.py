"""Where the tokens of a context went. Pure.

Every request measures the whole context exactly, so the growth between two requests is the exact
cost of what was added in between. The lengths of the texts only decide how that growth is shared
out; what they cannot account for is kept apart as unexplained.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from brimline import models
from brimline.transcript.clearings import CLIENT
from brimline.transcript.pieces import REPLY_KINDS, Piece

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from brimline.transcript.clearings import Clearing
    from brimline.transcript.pieces import Entry
    from brimline.transcript.typed import Request, Row

    # Told of each request: what it was the first to carry, and the whole context.
    Watch = Callable[[Request, "list[Share]", Counter[str]], None]

FLOOR, UNEXPLAINED = "floor", "unexplained"
SYSTEM = "system prompt and tools"
UNKNOWN_TOOL = "unknown"
NAMES = {
    "floor": "system, tools, instructions",
    "summary": "summary of what was compacted",
    "user": "user text",
    "assistant": "assistant text",
    "thinking": "thinking",
    "tool_input": "tool inputs",
    "tool_result": "tool results",
    "hook": "injected by hooks",
    "client": "injected by the client",
    "unexplained": "unexplained",
}
# Growth between half and twice the estimate is taken for the true cost of the texts, as it is at
# 98 % of the requests in recorded sessions; what lies outside is not a matter of tokenizing.
LEAST_SCALE, LARGEST_SCALE = 0.5, 2.0

# Measured on the same sessions: prose packs a fifth more characters into a token than tool traffic,
# a call costs about 90 tokens besides its arguments, and a result about 10 besides its text.
_PROSE_FACTOR = 1.2
_OVERHEAD_TOKENS = {"tool_input": 90, "tool_result": 10}
# A session that grew by so much tells how its texts count; less says nothing.
_TELLING_TOKENS = 5_000
_PROMPT_CHARACTERS = 80
# Estimates are whole hundredths of a token, so that sharing out is exact.
_PER_TOKEN = 100


@dataclass(slots=True)
class Turn:
    """From one prompt to the next; a compaction in between starts a second entry of that number."""

    number: int
    prompt: str
    requests: int = 0
    in_context: bool = True
    parts: Counter[str] = field(default_factory=Counter)

    @property
    def tokens_added(self) -> int:
        """By how much the turn changed the context."""
        return self.parts.total()


class FileTokens(NamedTuple):
    """What the results of calls on one file cost; `repeated` is what reads brought in again."""

    file: str
    tokens: int
    reads: int
    repeated_tokens: int


@dataclass(slots=True)
class Composition:
    """The context at its last request, and the turns that led to it."""

    occupancy_tokens: int | None = None
    parts: Counter[str] = field(default_factory=Counter)
    """Tokens by kind; their sum is the occupancy."""
    floor: Counter[str] = field(default_factory=Counter)
    tools: Counter[str] = field(default_factory=Counter)
    results: Counter[str] = field(default_factory=Counter)
    """How many results of each tool there are."""
    files: list[FileTokens] = field(default_factory=list)
    hooks: Counter[tuple[str, bool]] = field(default_factory=Counter)
    """Tokens by the hook's name and whether the text is ours."""
    client: Counter[str] = field(default_factory=Counter)
    turns: list[Turn] = field(default_factory=list)


def composition_of(rows: Iterable[Row]) -> Composition:
    """Account for a session, given from its first row to its last."""
    ledger = Ledger()
    for row in rows:
        if row.is_telling:
            ledger.add_row(row, row.entry)
    return ledger.close()


def estimate_tokens(pieces: Iterable[Piece], model: str | None) -> list[float]:
    """Return what pieces cost by their lengths alone."""
    ratio = models.lookup_model(model).characters_per_token
    return [
        piece.characters / ratio + _OVERHEAD_TOKENS[piece.kind]
        if piece.kind in _OVERHEAD_TOKENS
        else piece.characters / (ratio * _PROSE_FACTOR)
        for piece in pieces
    ]


def estimate_piece_tokens(piece: Piece, model: str | None) -> float:
    """Return what a piece costs by its length alone."""
    return estimate_tokens([piece], model)[0]


def characters_to_tokens(characters: int) -> int:
    """Return what a text of that length costs a model that is not known."""
    return round(estimate_piece_tokens(Piece("text", characters), None))


def first_request_estimates(
    occupancy: int, pieces: Sequence[Piece], model: str | None
) -> list[int]:
    """The tokens of what was there before a first request: its estimate, as nothing measures it."""
    weights = _estimate_weights(pieces, model)
    return divide_by_weights(min(occupancy, sum(weights) // _PER_TOKEN), weights)


def growth_shares(
    growth: int, pieces: Sequence[Piece], model: str | None, output_tokens: int | None = None
) -> list[int]:
    """The tokens of what was added between two requests; the rest of the growth is unexplained.

    Args:
        growth: by how much the second request was larger; a drop is negative.
        pieces: the first request's reply, and everything until the second.
        model: the one that counted.
        output_tokens: the exact size of the reply, where it is known.
    """
    weights = _estimate_weights(pieces, model)
    replied = [i for i, piece in enumerate(pieces) if piece.kind in REPLY_KINDS]
    if output_tokens is None or not replied:
        return _divide_bounded_growth(growth, weights)
    exact = divide_by_weights(output_tokens, [max(1, weights[i]) for i in replied])
    others = list(weights)
    for i, tokens in zip(replied, exact, strict=True):
        others[i], weights[i] = 0, tokens * _PER_TOKEN
    if growth - output_tokens < LEAST_SCALE * sum(others) / _PER_TOKEN:
        return _divide_bounded_growth(growth, weights)  # not even the reply was added whole
    shares = _divide_bounded_growth(growth - output_tokens, others)
    for i, tokens in zip(replied, exact, strict=True):
        shares[i] = tokens
    return shares


def divide_by_weights(total: int, weights: Sequence[int]) -> list[int]:
    """Share out a whole number in proportion, by largest remainder; all zero without weights."""
    whole = sum(weights)
    if whole <= 0:
        return [0] * len(weights)
    divided = [divmod(total * weight, whole) for weight in weights]
    shares = [quotient for quotient, _ in divided]
    by_remainder = sorted(range(len(weights)), key=lambda i: divided[i][1], reverse=True)
    for i in by_remainder[: total - sum(shares)]:
        shares[i] += 1
    return shares


def _divide_bounded_growth(growth: int, weights: Sequence[int]) -> list[int]:
    estimate = sum(weights) / _PER_TOKEN
    explained = min(max(growth, LEAST_SCALE * estimate), LARGEST_SCALE * estimate)
    return divide_by_weights(int(explained), weights)


def _estimate_weights(pieces: Sequence[Piece], model: str | None) -> list[int]:
    return [round(_PER_TOKEN * tokens) for tokens in estimate_tokens(pieces, model)]


class Share(NamedTuple):
    """What a piece took of the context; `kind` is the part that it counts for."""

    piece: Piece
    kind: str
    tokens: int
    offset: int = -1
    """Where its row stands in the file."""


class Injection(NamedTuple):
    """Who put text into a context beside the user, the model and its tools."""

    by: str
    """`hook` or `client`."""
    name: str
    ours: bool = False


class Injections:
    """What each of them took, over all of a session; a text counts once, when it comes in."""

    def __init__(self) -> None:
        self.tokens: Counter[Injection] = Counter()
        self.times: Counter[Injection] = Counter()
        self._counted: set[int] = set()

    def add_new_injections_to_counts(self, shares: Iterable[Share]) -> None:
        """Count what one request was the first to carry; what a compaction kept is not new."""
        injected = [one for one in shares if one.piece.kind in ("hook", "client")]
        new = [one for one in injected if one.offset not in self._counted]
        self._counted.update(one.offset for one in new)
        for piece, _, tokens, _ in new:
            found = Injection(piece.kind, piece.name, piece.ours)
            self.tokens[found] += tokens
            self.times[found] += 1


@dataclass(slots=True)
class _Carried:
    request: Request
    turn: Turn
    pieces: list[tuple[Piece, Turn, int]]
    """What it was the first to carry, each with the turn that added it and its row's place."""
    cleared: list[Clearing]
    """What it has no more."""


class Ledger:
    """Follows a session: pieces wait for the request that first carries them."""

    def __init__(self, watch: Watch | None = None) -> None:
        self.watch = watch
        self.turns = [Turn(0, "")]
        self.waiting: list[tuple[Piece, Turn, int]] = []
        self.cleared: list[Clearing] = []  # before the next request
        self.last: _Carried | None = None
        self.before: _Carried | None = None
        self.shares: list[Share] = []
        self.parts: Counter[str] = Counter()
        # What a first request took besides the texts; a compaction leaves it as it is.
        self.floor_tokens = 0
        # What texts took when requests measured them, and what their lengths had told.
        self.measured_tokens = self.estimated_tokens = 0.0

    def add_row(self, row: Row, entry: Entry) -> None:
        """Account for a row and what it adds."""
        if row.is_new_compaction:
            self._start_over_at_compaction()
        if entry.prompt is not None:
            self._open_turn(entry.prompt)
        if row.request and not (self.last and row.request is self.last.request):
            self._note_request(row.request)
        if row.clearing:
            # The service tells of the request that is answered, the client of the next one.
            holder = self.last if self.last and row.clearing.by != CLIENT else self
            holder.cleared.append(row.clearing)
        self.add_pieces(entry.pieces, row.offset)

    def add_pieces(self, pieces: Iterable[Piece], offset: int) -> None:
        """Let the next request carry these, of a row at that place."""
        turn = self.turns[-1]
        self.waiting += [(piece, turn, offset) for piece in pieces]

    def close(self) -> Composition:
        self._share_out_tokens_of_request()
        found = Composition(parts=self.parts, turns=[turn for turn in self.turns if turn.requests])
        if self.last:
            found.occupancy_tokens = self.last.request.tokens
        _add_share_tokens_by_source(found, self.shares)
        return found

    def ratio_of_measured_to_estimated(self) -> float:
        """Return how much more texts take in this session than their lengths tell."""
        is_known = self.estimated_tokens > _TELLING_TOKENS
        return self.measured_tokens / self.estimated_tokens if is_known else 1.0

    def ids_of_replaced_calls(self) -> frozenset[str]:
        """The calls with results in the latest request that are lines of ours by now."""
        new = self.last.pieces if self.last else []
        held = [*(share.piece for share in self.shares), *(piece for piece, _, _ in new)]
        return frozenset(
            piece.call_id for piece in held if piece.kind == "tool_result" and piece.ours
        )

    def _start_over_at_compaction(self) -> None:
        """Start over; the turn under way goes on in a second entry."""
        self._share_out_tokens_of_request()
        self.last = self.before = None
        self.waiting, self.cleared, self.shares, self.parts = [], [], [], Counter()
        last = self.turns[-1]
        for turn in self.turns:
            turn.in_context = not turn.requests
        if last.requests:
            self.turns.append(Turn(last.number, last.prompt))

    def _open_turn(self, prompt: str) -> None:
        """Begin a turn; prompts that reached no request share the entry of the next one."""
        if self.turns[-1].requests:
            self.turns.append(Turn(0, ""))
        turn = self.turns[-1]
        turn.number = 1 + (self.turns[-2].number if len(self.turns) > 1 else 0)
        turn.prompt = prompt[:_PROMPT_CHARACTERS]

    def _note_request(self, request: Request) -> None:
        self._share_out_tokens_of_request()
        self.before = self.last
        self.last = _Carried(request, self.turns[-1], self.waiting, self.cleared)
        self.waiting, self.cleared = [], []
        self.last.turn.requests += 1

    def _share_out_tokens_of_request(self) -> None:
        """Share out what the latest request measured, now that its figures are complete."""
        last, before = self.last, self.before
        if last is None:
            return
        pieces = [piece for piece, _, _ in last.pieces]
        occupancy, model = last.request.tokens, last.request.model
        cleared_tokens = sum(self._take_out_cleared(one, last.turn) for one in last.cleared)
        if before is None:
            growth, rest = occupancy, FLOOR
            shares = first_request_estimates(occupancy, pieces, model)
        else:
            growth, rest = occupancy - before.request.tokens + cleared_tokens, UNEXPLAINED
            output = before.request.spent.output_tokens if before.request.is_final else None
            shares = growth_shares(growth, pieces, model, output)
            self.measured_tokens += sum(shares)
            self.estimated_tokens += sum(estimate_tokens(pieces, model))
        left = growth - sum(shares)
        if before is None:
            self.floor_tokens = left
        if left < 0 and last.turn.requests == 1:
            left += self._take_shortfall_from_thinking(last.turn, -left)
        carried = []
        for (piece, turn, offset), tokens in zip(last.pieces, shares, strict=True):
            kind = FLOOR if before is None and _is_piece_in_every_session(piece) else piece.kind
            carried.append(Share(piece, kind, tokens, offset))
            self._add_to_part(turn, kind, tokens)
        self.shares += carried
        self._add_to_part(last.turn, rest, left)
        if self.watch:
            self.watch(last.request, carried, self.parts)

    def _take_out_cleared(self, clearing: Clearing, turn: Turn) -> int:
        """Take results out that are sent no more; those of the service are the oldest ones."""
        named, left = set(clearing.call_ids), 0 if clearing.call_ids else clearing.tokens
        kept = round(models.tokens_of_result(len(clearing.stand_in)))
        freed = 0
        for at, share in enumerate(self.shares):
            if share.kind == "tool_result" and (left > 0 or share.piece.call_id in named):
                gone = max(0, share.tokens - kept) if named else min(share.tokens, left)
                self.shares[at] = share._replace(tokens=share.tokens - gone)
                freed, left = freed + gone, left - gone
        self._add_to_part(turn, "tool_result", -freed)
        return freed

    def _take_shortfall_from_thinking(self, turn: Turn, shortfall: int) -> int:
        """Take a shortfall out of earlier thoughts: a new prompt makes many models drop them."""
        dropped = min(shortfall, self.parts["thinking"])
        self._add_to_part(turn, "thinking", -dropped)
        return dropped

    def _add_to_part(self, turn: Turn, kind: str, tokens: int) -> None:
        self.parts[kind] += tokens
        turn.parts[kind] += tokens


def _is_piece_in_every_session(piece: Piece) -> bool:
    """Tell whether every session begins with such a piece: lists, instructions."""
    return piece.kind == "client" and not piece.file


def _add_share_tokens_by_source(composition: Composition, shares: Sequence[Share]) -> None:
    """Tell floor, hooks, the client's own texts, tools and files apart."""
    for piece, kind, tokens, _ in shares:
        if kind == "hook":
            composition.hooks[piece.name, piece.ours] += tokens
        elif kind == "client":
            composition.client[piece.name] += tokens
        elif kind == FLOOR:
            composition.floor[piece.name] += tokens
    composition.floor[SYSTEM] = composition.parts[FLOOR] - composition.floor.total()
    _fill_in_tools_and_files(composition, shares)


def _fill_in_tools_and_files(composition: Composition, shares: Sequence[Share]) -> None:
    calls = {piece.call_id: piece for piece, _, _, _ in shares if piece.kind == "tool_input"}
    by_file: dict[str, list[tuple[Piece, int]]] = {}
    for piece, kind, tokens, _ in shares:
        if kind != "tool_result":
            continue
        call = calls.get(piece.call_id)
        tool = (call.name if call else "") or UNKNOWN_TOOL
        composition.tools[tool] += tokens
        composition.results[tool] += 1
        if call and call.file:
            by_file.setdefault(call.file, []).append((call, tokens))
    composition.files = [_sum_up_reads_of_file(file, results) for file, results in by_file.items()]


def _sum_up_reads_of_file(file: str, results: Sequence[tuple[Piece, int]]) -> FileTokens:
    """Sum up one file; a read repeats where it overlaps an earlier one."""
    seen: list[tuple[int, int]] = []
    repeated = 0
    for call, tokens in results:
        if call.lines is None:
            continue
        first, end = call.lines
        if any(first < other_end and other_first < end for other_first, other_end in seen):
            repeated += tokens
        seen.append(call.lines)
    return FileTokens(file, sum(tokens for _, tokens in results), len(seen), repeated)
