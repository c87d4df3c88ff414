"""Every way out that a message names is taken by the one it is told to, and leads out."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import pytest

from .stub_api import agent, filled, rounds, text, tool

if TYPE_CHECKING:
    from .brimline_home import Installed
    from .harness import Client
    from .stub_api import StubApi, Turn

REFUSALS = ("Not loading agent", "Way out:", "blocked: context ceiling")
SKILL = tool("Skill", {"skill": "planner"})


class Told(NamedTuple):
    """A message: what brings it about, how it begins for each reader, what the person types."""

    preset: str
    tokens: int
    """At which it comes."""
    model: str
    person: str = ""
    typed: str = ""
    load: Turn | None = None
    strict: bool = False


TOLD = [
    *(
        Told("default", tokens, f"Context tier L{level}")
        for level, tokens in enumerate((145_000, 172_000, 188_000, 196_000), 1)
    ),
    *(
        Told("guard-30-15-7-3", tokens, f"Context tier L{level}")
        for level, tokens in enumerate((145_000, 172_000, 188_000, 196_000), 1)
    ),
    Told(
        "guard-30-15-7-3", 196_000, "Not loading agent", "/compact makes room", "/compact", agent()
    ),
    Told("haios-80", 170_000, "CONTEXT: ~85% used", "CONTEXT: ~85% used. Consider", "checkpoint"),
    Told("ccm-70-80-90", 142_000, "NOTE: Context at", "/compact available", "/compact"),
    Told("ccm-70-80-90", 162_000, "WARNING: Context at", "running /compact soon", "/compact"),
    Told("ccm-70-80-90", 182_000, "CRITICAL: Context at", "Run /compact NOW", "/compact"),
    *(
        Told("default", tokens, words, load=SKILL)
        for tokens, words in ((81_000, "Over the"), (101_000, "Well over"), (121_000, "Far over"))
    ),
    Told("default", 121_000, "Way out:", "/compact makes room", "/compact", SKILL, strict=True),
    *(
        Told("adr11", tokens, words, person, "checkpoint", agent())
        for tokens, words, person in (
            (81_000, "a file soon", "Consider"),
            (101_000, "a file now", "Run"),
            (121_000, "a file before anything else", "Run"),
        )
    ),
    Told(
        "adr11",
        121_000,
        "blocked: context ceiling",
        "never gated",
        "checkpoint",
        agent(),
        strict=True,
    ),
]


TO_A_PERSON = [row for row in TOLD if row.person]


def name_of(told: Told) -> str:
    """What a row is about."""
    return re.sub(r"\W+", "-", f"{told.preset} {told.model}")


def bring_about(told: Told, installed: Installed, stub: StubApi, *after: Turn) -> None:
    """Set the session up so that the message comes with its second prompt, at the latest."""
    settings = {"guard.preset": told.preset, "guard.velocity_points": "0"}
    settings |= {"context_window": "200000"}
    settings |= {"guard.ceiling": "strict"} if told.strict else {}
    for name, value in settings.items():
        assert installed.command("config", "set", name, value).returncode == 0
    here = filled(told.tokens)
    loads = [replace(told.load, usage=here)] if told.load else []
    skill = installed.client.config / "skills" / "planner" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: planner\ndescription: plans\n---\nPlan.\n", encoding="utf-8")
    stub.script(*rounds(told.tokens - 1_000, told.tokens), text("FIRST", here))
    stub.script(*loads, *after, text("END", here))


@pytest.mark.row("S0-21", "S0-31", "S1-01", "S1-18")
@pytest.mark.parametrize("told", TOLD, ids=name_of)
def test_the_model_takes_the_way_it_is_told(
    told: Told, client: Client, stub: StubApi, installed: Installed
) -> None:
    """It is told in a request, and does it at once: nothing holds up that a file is written."""
    kept = client.project / "state.md"
    write = tool("Write", {"file_path": str(kept), "content": "half done"}, filled(told.tokens))
    bring_about(told, installed, stub, write)

    client.converse("go", "on", args=["--permission-mode", "acceptEdits"])

    last = stub.requests("main")[-1]
    assert told.model in last.seen_text()
    assert kept.read_text() == "half done"
    assert all(told.model in error for error in last.errors())
    assert len(last.errors()) == (told.model in REFUSALS)
    assert installed.errors() == ""


@pytest.mark.row("S0-31", "S1-01", "S1-03", "S3-35")
@pytest.mark.parametrize(
    ("told", "start"),
    [(row, "/brim-") for row in TO_A_PERSON]
    + [(row, "/brim:") for row in TO_A_PERSON if row.typed == "checkpoint"],
    ids=lambda value: name_of(value) if isinstance(value, Told) else value,
)
def test_the_person_takes_the_way_they_are_told(
    told: Told, start: str, client: Client, stub: StubApi, installed: Installed
) -> None:
    """The sentence is on their screen, with a command of this client, which does what it says."""
    installed.install(*(["--no-mod"] if start == "/brim:" else []))
    bring_about(told, installed, stub)
    typed = told.typed if told.typed.startswith("/") else start + told.typed
    with client.interactive() as session:
        # What the mod shows above the prompt stays until the next one.
        prompts = (
            {"go": "FIRST"}
            if told.load is None and "ccm" in told.preset
            else {"go": "FIRST", "on": "END"}
        )
        for prompt, answer in prompts.items():
            session.say(prompt, answer)
        session.wait_for(told.person)
        assert typed in session.text
        session.say(typed)
        if told.typed == "/compact":
            session.wait_until(lambda: len(stub.requests("compaction")) == 1)
        else:
            # A long path goes on in the next row of the screen.
            session.wait_until(lambda: "checkpoint.md" in "".join(session.text.split()))

    (folder,) = (installed.data / "carry").glob("*-*")
    assert (folder / "checkpoint.md").exists()
    assert installed.errors() == ""
