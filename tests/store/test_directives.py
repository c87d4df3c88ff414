"""Pin directives in what a user writes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimline.store import directives
from brimline.store.directives import Directive, Result, Said, Wanted, resolve

from .examples import thorough


@pytest.mark.row("S3-58")
def test_last_pins_the_nearest_large_result_before_it() -> None:
    """With the level and the reason that were given."""
    found = resolve(
        [
            Result("a"),
            Result("b"),
            Said('keep that: ccm:pin last level=soft reason="the build"'),
            Result("c"),
        ]
    )

    assert found == {"b": Wanted("soft", "the build")}
    assert resolve([Said("ccm:pin last"), Result("a")]) == {}


@pytest.mark.row("S3-59")
def test_next_pins_the_next_large_result_only() -> None:
    """However many messages lie in between."""
    found = resolve(
        [Result("a"), Said("ccm:pin next level=hard"), Said("go on"), Result("b"), Result("c")]
    )

    assert found == {"b": Wanted("hard", None)}
    assert resolve([Result("a"), Said("ccm:pin next")]) == {}


@pytest.mark.row("S3-60")
def test_a_range_pins_every_large_result_in_between() -> None:
    """The start gives the level and the reason."""
    found = resolve(
        [
            Result("a"),
            Said('ccm:pin start level=hard reason="traces"'),
            Result("b"),
            Result("c"),
            Said("ccm:pin end"),
            Result("d"),
        ]
    )

    assert found == {"b": Wanted("hard", "traces"), "c": Wanted("hard", "traces")}


@pytest.mark.row("S3-60")
@pytest.mark.parametrize(
    "conversation",
    [
        [Said("ccm:pin start"), Result("a")],
        [Result("a"), Said("ccm:pin end")],
        [Said("ccm:pin end"), Result("a"), Said("ccm:pin start")],
        [Said("ccm:pin start"), Said("ccm:pin end"), Result("a")],
    ],
)
def test_half_a_range_pins_nothing(conversation: list[Said | Result]) -> None:
    """A start without an end, an end without a start, or both around nothing."""
    assert resolve(conversation) == {}


def test_an_end_closes_the_last_start() -> None:
    """The start that stays open pins nothing."""
    conversation: list[Said | Result] = [
        Said("ccm:pin start level=hard"),
        Result("a"),
        Said("ccm:pin start"),
        Result("b"),
        Said("ccm:pin end"),
    ]

    assert resolve(conversation) == {"b": Wanted("soft", None)}


@pytest.mark.row("S3-61")
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("ccm:pin last", Directive("last", "soft", None)),
        ("brim:pin last", Directive("last", "soft", None)),
        ("CCM:PIN NEXT LEVEL=HARD", Directive("next", "hard", None)),
        ("Brim:Pin Start Reason='why not'", Directive("start", "soft", "why not")),
        ("ccm:pin last reason=short level=hard", Directive("last", "hard", "short")),
        (
            r'ccm:pin last reason="a \"b\" level=hard"',
            Directive("last", "soft", 'a "b" level=hard'),
        ),
        ("ccm:pin last level=firm", Directive("last", "soft", None)),
        ("ccm:pin last level=none", Directive("last", "none", None)),
        ("`ccm:pin end`", Directive("end", "soft", None)),
        ("ccm:pin last, please level=hard", Directive("last", "soft", None)),
    ],
)
def test_case_level_and_reason_are_free(text: str, wanted: Directive) -> None:
    """Soft without a level, no reason without one, in any case and order."""
    assert directives.parse(text) == [wanted]


@pytest.mark.parametrize(
    "text",
    [
        *("ccm:pin", "ccm:pin first", "xccm:pin last", "ccm:pinlast", "pin last"),
        *("/brim:pin-first", "/brim:pin-lastly", "/ccm:pin-last", "type /brim:pin-last to keep it"),
        "quoted: <command-name>/brim:pin-last</command-name>",
        "<command-name>/brim:status</command-name>",
    ],
)
def test_other_words_are_no_directives(text: str) -> None:
    """Only the exact form counts."""
    assert directives.parse(text) == []


@pytest.mark.row("S3-65")
@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ("", Directive("next", "soft", None)),
        (" hard", Directive("next", "hard", None)),
        ("  HARD  because it matters ", Directive("next", "hard", "because it matters")),
        (" because it matters", Directive("next", "soft", "because it matters")),
        (" hardly ever", Directive("next", "soft", "hardly ever")),
        (' hard "the build"', Directive("next", "hard", "the build")),
        (' level=hard reason="the build"', Directive("next", "hard", "the build")),
        (" reason=why hard", Directive("next", "hard", "why")),
        (" level=hard because", Directive("next", "hard", "because")),
        (" level=firm", Directive("next", "soft", None)),
        (" hard\nover two\nlines", Directive("next", "hard", "over two\nlines")),
    ],
)
def test_a_slash_command_is_a_directive_typed_or_recorded(
    arguments: str, wanted: Directive
) -> None:
    """The hook sees the line that was typed, the transcript holds it in the client's tags."""
    recorded = (
        "<command-message>brim:pin-next</command-message>\n"
        f"<command-name>/brim:pin-next</command-name>\n<command-args>{arguments.strip()}"
        "</command-args>"
    )

    assert directives.parse("/brim:pin-next" + arguments) == [wanted]
    assert directives.parse(recorded) == [wanted]


@pytest.mark.row("S3-65")
def test_a_recorded_slash_command_may_come_without_arguments() -> None:
    """Then it is as if none had been given."""
    recorded = "<command-name>/brim:pin-last</command-name>"

    assert directives.parse(recorded) == [Directive("last", "soft", None)]
    assert directives.parse(recorded, "hard") == [Directive("last", "hard", None)]


def test_the_default_level_can_be_set() -> None:
    """For a preset that wants another one."""
    assert directives.parse("ccm:pin last", "hard") == [Directive("last", "hard", None)]


def test_the_strongest_of_several_pins_counts() -> None:
    """Of equals the last."""
    conversation: list[Said | Result] = [
        Result("a"),
        Said("ccm:pin last level=hard reason=one"),
        Said("ccm:pin last level=soft reason=two"),
        Said("ccm:pin last level=hard reason=three\nand ccm:pin next"),
    ]

    assert resolve(conversation) == {"a": Wanted("hard", "three")}


@thorough
@given(st.lists(st.text(max_size=40).map(Said) | st.text(max_size=3).map(Result), max_size=20))
def test_no_conversation_is_an_error(conversation: list[Said | Result]) -> None:
    """What users write is free text."""
    names = {item.name for item in conversation if isinstance(item, Result)}

    assert set(resolve(conversation)) <= names
