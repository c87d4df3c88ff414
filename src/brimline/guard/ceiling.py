"""The ceiling: an economy gate on what loads more into the context (skills; agents if asked).

Fast path: imports only `decision`, `fast.io` and `guard.monitor`; loaded for the few
tool calls it gates. It looks at occupancy, not at the projection: what counts is what is already in
use.
"""

from __future__ import annotations

from brimline.fast import io
from brimline.fast.decision import Decision, merge_decisions
from brimline.foreign import flatten
from brimline.guard import CEILING_MARK, monitor
from brimline.transcript import clienttools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from brimline.hooks.turn import Turn
    from brimline.state.session import SessionState

BUCKET_POINTS = 5
_LONGEST_NAME = 60
# Multiples of the ceiling at which the advice becomes more pressing.
BANDS = (1.0, 1.25, 1.5)
# How preset `adr11` calls where a window is known from; everything else was detected.
_PROVENANCE = {"config": "override", "default": "default"}


class Ceiling:
    """The ceiling in tokens and which of its two bounds is the lower one."""

    def __init__(self, window_tokens: int, values: dict[str, Any]) -> None:
        share = int(window_tokens * values["guard.ceiling_percent"] / 100)
        self.tokens: int = min(share, values["guard.ceiling_tokens"])
        self.bound = "percentage" if share <= values["guard.ceiling_tokens"] else "absolute"


class Load:
    """A tool call that loads an agent or a skill."""

    def __init__(self, tool: str, tool_input: dict[str, Any]) -> None:
        self.tool = tool
        keys = ("skill", "name", "command") if tool == "Skill" else ("subagent_type", "name")
        self.name = flatten(clienttools.first_text_among_names(tool_input, keys), _LONGEST_NAME)

    @property
    def action_text(self) -> str:
        """What is about to happen, in words."""
        verb = "invoking skill" if self.tool == "Skill" else "loading agent"
        return f"{verb} '{self.name or 'unnamed'}'"


def decide(turn: Turn) -> Decision | None:
    """Return what to say or refuse before an agent or a skill is loaded.

    A refusal every time; advice once per bucket of five points.
    """
    preset, values, reading = turn.policy.preset, turn.values, turn.reading
    load = Load(turn.event.tool, turn.event.tool_input)
    if preset["quiet"]:
        return None
    is_last_tier = reading.tier == reading.tier_count
    # An agent's result would come into a full context.
    if preset["dispatch"] and is_last_tier and load.tool in clienttools.DELEGATING:
        _record_refused_load(turn, load, "critical tier")
        fields = monitor.template_fields(turn) | {"load": load.action_text}
        refusal = _refusal(preset["dispatch"], fields)
        told = monitor.announce_tier_if_due(turn)
        return merge_decisions([refusal, told]) if told else refusal
    used = reading.occupancy_tokens
    gates = dict(entry.partition(":")[::2] for entry in values["guard.gate_tools"])
    gate = gates.get(load.tool)
    if values["guard.ceiling"] == "off" or used is None or gate is None:
        return None
    ceiling = Ceiling(reading.window.tokens, values)
    if used < ceiling.tokens:
        forget_advice(turn.state)  # the next climb over it is news
        return None
    name = load.name.rpartition(":")[2].lstrip("/").strip()
    if load.tool == "Skill" and name in values["guard.recovery_skills"]:
        return None
    return _judge_load(turn, load, ceiling, gate, used)


def _judge_load(turn: Turn, load: Load, ceiling: Ceiling, gate: str, used: int) -> Decision | None:
    """Refuse a load over the ceiling where that was asked for, else advise where it is news."""
    preset, reading = turn.policy.preset, turn.reading
    excuse = ""
    if turn.values["guard.ceiling"] == "strict":
        is_assumed = preset["verified"] and not reading.window.is_verified
        excuse = "delegation" if gate == "warn" else "window unverified" if is_assumed else ""
        if not excuse:
            _record_refused_load(turn, load, "context ceiling")
            return _refusal(preset["ceiling"], _fields_of_load(turn, load, ceiling))
    bucket = used * 100 // reading.window.tokens // BUCKET_POINTS
    if not _claim_advice_in_bucket(turn.state, bucket):
        return None
    turn.spool_event("Advised", tool=load.tool)
    fields = _fields_of_load(turn, load, ceiling, excuse)
    person = (fields["person_note"],) if fields["person_note"] else ()
    return Decision(model_notes=(fields["note"],), person_notes=person)


def _refusal(words: dict[str, str], fields: dict[str, Any]) -> Decision:
    """Return a refusal with a way out for the model, and one for the person."""
    about_person = fields | {"note": fields.get("person_note")}
    return Decision(
        permission="deny",
        reason=words["refusal"].format_map(fields),
        person_notes=(words["person_refusal"].format_map(about_person),),
    )


def forget_advice(state: SessionState, but: str = "") -> None:
    """Advice may be given again, in every bucket but one."""
    for name in state.names:
        if name.startswith(CEILING_MARK) and name != but:
            io.remove(f"{state.folder}/{name}")


def _fields_of_load(turn: Turn, load: Load, ceiling: Ceiling, excuse: str = "") -> dict[str, Any]:
    """Return what the preset's words on a load over the ceiling may name, its notes among it."""
    words, reading = turn.policy.preset["ceiling"], turn.reading
    source = reading.window.source
    fields = monitor.template_fields(turn) | {
        "load": load.action_text,
        "ceiling": ceiling.tokens,
        "bound": ceiling.bound,
        "source": source,
        "provenance": _PROVENANCE.get(source, "detected"),
        "excuse": words["excuse"].format(why=excuse) if excuse else "",
        "skills": " and ".join(sorted(turn.values["guard.recovery_skills"], key=len)[:2]),
        "tune": words.get("tune"),
    }
    fields["diagnostic"] = words["diagnostic"].format_map(fields)
    used = reading.occupancy_tokens or 0
    band = sum([used >= factor * ceiling.tokens for factor in BANDS]) - 1
    fields["note"] = words["notes"][band].format_map(fields)
    fields["person_note"] = words["person"][band].format_map(fields) if "person" in words else ""
    return fields


def _record_refused_load(turn: Turn, load: Load, reason: str) -> None:
    from brimline.state import logs

    turn.spool_event("Blocked", blocked=True, tool=load.tool, subject=load.action_text)
    session, figures = turn.state.session_id, turn.reading.recorded_figures()
    fields = {"kind": "block", "subject": load.action_text, "reason": reason}
    turn.attempt("audit", logs.audit_notice, turn.home, session, figures, fields)


def _claim_advice_in_bucket(state: SessionState, bucket: int) -> bool:
    """Tell whether this advice is due; of all parallel hooks exactly one gets to give it."""
    told = state.largest_number_after_prefix(CEILING_MARK)
    mark = f"{CEILING_MARK}{bucket}"
    forget_advice(state, mark)
    is_news = told is None or bucket > told
    return io.create_exclusively(f"{state.folder}/{mark}", b"") and is_news
