"""What the model reads, all of it: every tier, preset and way to end, in one golden file.

`UPDATE_GOLDEN=1` writes the file anew; read the difference before it is committed.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .dialogue import Answer, Talk

GOLDEN = Path(__file__).parent / "golden" / "messages.txt"
# Who ends a context, by the model and what the client's settings say.
ENDINGS = {
    "the client compacts": ("claude-sonnet-4-6", {}),
    "the API refuses": ("claude-sonnet-4-5-20250929", {}),
    "nobody has seen": ("my-own-model", {}),
    "the client compacts a smaller window": (
        "claude-sonnet-4-5-20250929",
        {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "150000"},
    ),
}
TIERS = {"default": (30, 15, 7, 3, 2), "guard-30-15-7-3": (30, 2), "off": (3,), "adr11": (3,)}
SHARES = {"haios-80": (85, 90), "ccm-70-80-90": (71, 81, 91)}
ORDERS_TO_STOP = re.compile(
    r"\b(stop|halt|abort|cease|quit|give up|end the (turn|task)|no further work|"
    r"do not (continue|proceed|go on)|must not)\b",
    re.IGNORECASE,
)
PERSON = "To the person: "
# What only a person can type, in a terminal or in the client.
TYPED = re.compile(r"/[a-z]|`brimline")
# The heading, the advice, and where the session stands.
ROOM = 325


def lines(answer: Answer) -> list[str]:
    """What is said, and to whom."""
    said = [answer.note, answer.refusal, answer.person and PERSON + answer.person]
    return list(filter(None, said))


def tiers(talk: Talk) -> list[str]:
    """Every tier of every preset under every ending, and what is said while the last one lasts."""
    found: list[str] = []
    for ending, (model, env) in ENDINGS.items():
        for preset in (*TIERS, *SHARES):
            talk.session.model = model
            talk.anew(f"{preset}-{len(found)}")
            talk.use(guard__preset=preset, guard__velocity_points=0)
            for name, value in env.items():
                talk.patch.setenv(name, value)
            found.append(f"\n## {preset}: {ending}")
            end = {"the API refuses": 200_000}.get(ending, 117_000 if env else 167_000)
            wide = 1_500 if env else 2_000
            steps = [end - points * wide for points in TIERS.get(preset, ())]
            steps += [share * 2_000 for share in SHARES.get(preset, ())]
            for tokens in steps:
                talk.session.reply(tokens)
                said = [talk.after_tool(), talk.at_prompt(), talk.at_stop()]
                found += [line for answer in said for line in lines(answer)]
            for name in env:
                talk.patch.delenv(name)
    return found


def loads(talk: Talk) -> list[str]:
    """Every band of the ceiling, advised and refused, and the dispatch that is refused."""
    found = []
    talk.session.model = "claude-sonnet-4-6"
    for preset, ceiling in (("default", "warn"), ("default", "strict"), ("adr11", "strict")):
        for verified in (True, False):
            talk.anew(f"{preset}-{ceiling}-{verified}")
            talk.use(guard__preset=preset, guard__ceiling=ceiling, guard__gate_tools="Skill")
            if verified:
                talk.use(context_window=200_000)
            else:
                talk.patch.delenv("BRIMLINE_CONTEXT_WINDOW")
            found.append(f"\n## ceiling {ceiling}, {preset}, verified: {verified}")
            bands = [talk.load(tokens, name="x:planner") for tokens in (81_234, 101_234, 121_234)]
            found += [line for answer in bands for line in lines(answer)]
    talk.unset("guard__gate_tools", "guard__ceiling")
    talk.anew("dispatch")
    talk.use(guard__preset="guard-30-15-7-3")
    found += ["\n## dispatch in the last tier", *lines(talk.load(165_000, "Agent", "explorer"))]
    return found


def odd(talk: Talk) -> list[str]:
    """Tiers that growth raised, one of them from calm; automatic compaction off."""
    talk.patch.delenv("BRIMLINE_GUARD_PRESET")
    talk.patch.delenv("BRIMLINE_GUARD_VELOCITY_POINTS")
    talk.anew("few requests left")
    for tokens in (60_000, 80_000, 100_000):
        talk.session.reply(tokens)
    found = ["\n## raised from calm", talk.after_tool().note, "\n## raised by growth"]
    talk.anew("raised")
    for tokens in (64_000, 80_000, 96_000, 112_000):
        talk.session.reply(tokens)
    found += [talk.after_tool().note, "\n## automatic compaction off"]
    settings = Path(os.environ["CLAUDE_CONFIG_DIR"], "settings.json")
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('{"autoCompactEnabled": false}')
    talk.anew("stopped")
    talk.at_start()
    return [*found, talk.after_tool(171_000).note]


@pytest.mark.row("S0-30", "S0-31", "S1-03", "S2-35", "S3-35", "S4-12")
def test_every_message_is_as_recorded(talk: Talk) -> None:
    """One file holds them all; each fits on two lines and none is an order to stop working.

    The model is told nothing that only a person can type.
    """
    said = [*tiers(talk), *loads(talk), *odd(talk)]
    text = "\n".join(said).strip() + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(text, encoding="utf-8")

    assert text == GOLDEN.read_text(encoding="utf-8")
    ours = [line for line in said if line.startswith("[brimline]")]
    assert len(ours) > 35
    assert [line for line in ours if len(line) > ROOM] == []
    assert [line for line in said if TYPED.search(line) and PERSON not in line] == []
    assert [line for line in said if ORDERS_TO_STOP.search(line)] == []


@pytest.mark.row("S2-03", "S2-23")
@pytest.mark.parametrize("tokens", [110_000, 140_000, 155_000, 163_000])
def test_what_changes_comes_last(tokens: int, talk: Talk) -> None:
    """Prompt caches reward stable text: two notes of one tier differ in their figures only."""
    talk.use(guard__velocity_points=0)
    first = talk.after_tool(tokens).note
    talk.session.session_id = "another"
    second = talk.after_tool(tokens + 321).note

    heads = {text.partition("Next:")[0] for text in (first, second)}
    assert first != second
    assert len(heads) == 1
    assert len(re.findall(r"\d", heads.pop())) == 1
