"""A tool result that the mod hands on: what it told besides, and the gate it goes by until then.

Fast path: imports only `fast` and `state.session`; the rest is loaded for such an event alone.

Where the mod answers for our hooks (`mod/calls.js`), a call starts this process only if the gate of
the last answer says so. The event is the client's own with one key more, `brimline`: `results`, how
many results came since, this one included, and `is_later`, that nobody waits for the answer.
"""

from __future__ import annotations

from brimline.fast import io, json
from brimline.state.session import MOD_JUDGED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from brimline.gauge.reading import Reading
    from brimline.hooks.turn import Turn

# A warning may be so much of the window early; the telemetry is due after so much.
_EARLY_RATIO, _PUBLISHED_RATIO = 0.01, 0.05


def respond(turn: Turn) -> bytes:
    """Answer as to the client, unless that has brought the result itself, and add the gate."""
    from brimline.hooks import wire
    from brimline.hooks.turn import ask_rooms

    event, state = turn.event, turn.state
    told = event.payload[wire.MOD_KEY]
    document: dict[str, Any] = {}
    judged = ""
    if MOD_JUDGED in state.names:
        judged = io.read_file(f"{state.folder}/{MOD_JUDGED}").decode()
    if event.call_id not in judged.splitlines():
        turn.attempt("results", _note_skipped_results, turn, told.get("results"))
        decision = ask_rooms(turn, "guard" if told.get("is_later") else "")
        if decision:
            document = json.parse_object(wire.answer_text(event.name, decision).encode())
    document[wire.MOD_KEY] = turn.attempt("gate", limits_for_mod_to_stay_silent, turn) or {}
    return json.dumps(document).encode()


def _note_skipped_results(turn: Turn, number: object) -> None:
    """Count the results that came before this one without a process."""
    from brimline.bulk import marks

    if isinstance(number, int) and number > 1:
        marks.count_down_repeat_offers(turn, number - 1)


def limits_for_mod_to_stay_silent(turn: Turn) -> dict[str, Any]:
    """Say up to where a call needs nothing; what is missing is never reached.

    - `bytes`: the largest event whose result is not looked at; `reads`: whether a Read is, whatever
      its size.
    - `measured`: the tokens of this reading; less is news. `speaks_at`: the tokens at which a tier
      may be announced. `steep`: growth in one request that may raise a tier.
    - `publishes_at`: the tokens at which those who poll are to be told.
    """
    from brimline.bulk.marks import PAST, PREVIEWED

    if turn.state.is_off:
        return {}
    values, answer = turn.values, {}
    if values["offload.preset"] != "off":
        answer["bytes"] = min(values["offload.inline_bytes"], values["offload.read_bytes"])
        # Of a session with a past the hook before a Write may learn at any time what was previewed.
        names = io.list_names(turn.state.folder)
        answer["reads"] = PAST not in names or any(name.startswith(PREVIEWED) for name in names)
    return answer | _tier_limits_for_mod(turn, turn.reading)


def _tier_limits_for_mod(turn: Turn, reading: Reading) -> dict[str, int]:
    from brimline.gauge import window

    occupancy, tier = reading.occupancy_tokens, reading.tier
    if occupancy is None or tier is None:
        return {"speaks_at": 0}
    early = round(_EARLY_RATIO * reading.window.tokens)
    step = round(_PUBLISHED_RATIO * reading.window.tokens)
    answer = {"measured": occupancy, "publishes_at": occupancy + step}
    preset = turn.policy.preset
    if not preset["tiers"] or turn.event.name not in preset["events"]:
        return answer
    lasting = preset["persistent"] and tier == reading.tier_count > 1
    if lasting or (tier and preset["repeats"]):
        return answer | {"speaks_at": 0}
    if tier < reading.tier_count:
        answer["speaks_at"] = int(reading.ladder.begins[tier]) - early
        limit_points = turn.values["guard.velocity_points"]
        if limit_points:
            answer["steep"] = window.least_steep_growth_tokens(reading, limit_points)
    return answer
