"""A recorded session played to the rooms again: what would happen at which size."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from brimline.fast import paths
from brimline.hooks import rehearse
from brimline.testing import text_block

if TYPE_CHECKING:
    from pathlib import Path

    from brimline.testing import SessionBuilder

QUIET = 'guard.preset = "off"\noffload.preset = "off"\n'
Story = list[tuple[str, int, str, int | None]]


@pytest.fixture
def play(
    session: SessionBuilder,
    home_dir: str,
    project_dir: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> Any:
    """Play the session under some settings: what happens, and the copy that the rooms saw."""
    session.cwd = project_dir

    def run(settings: str = QUIET) -> tuple[Story, list[dict[str, Any]]]:
        config = paths.user_config(home_dir)
        os.makedirs(os.path.dirname(config), exist_ok=True)
        with open(config, "w", encoding="utf-8") as file:
            file.write(settings)
        copy = tmp_path / "copy.jsonl"
        rehearse.main(session.path, str(copy))
        told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        story = [(one["kind"], one["request"], one["text"], one["tokens"]) for one in told]
        return story, [json.loads(line) for line in copy.read_text("utf-8").splitlines()]

    return run


def grow(session: SessionBuilder, *sizes: int) -> None:
    """A prompt and a reply for each size."""
    for size in sizes:
        session.prompt("step")
        session.reply(size, text_block("ok"))


def requests(story: Story) -> list[int | None]:
    """How large each request would have been."""
    return [tokens for kind, _, _, tokens in story if kind == "request"]


def test_under_its_own_settings_a_session_is_as_it_was(session: SessionBuilder, play: Any) -> None:
    """A compaction comes when it came."""
    grow(session, 50_000, 90_000, 120_000)
    session.compact(130_000)
    grow(session, 40_000)

    story, copy = play()

    assert story == [
        ("request", 1, "", 50_000),
        ("request", 2, "", 90_000),
        ("request", 3, "", 120_000),
        ("compacted", 3, "as recorded", 130_000),
        ("request", 4, "", 40_000),
    ]
    kinds = [row["type"] for row in copy]
    assert kinds == [*["user", "assistant"] * 3, "system", "user", "assistant"]
    usage = copy[1]["message"]["usage"]
    assert usage["cache_read_input_tokens"] == 50_000
    assert (usage["input_tokens"], usage["cache_creation_input_tokens"]) == (0, 0)


def test_an_earlier_brim_compacts_earlier_and_puts_off_what_was_recorded(
    session: SessionBuilder, play: Any
) -> None:
    """Each compaction leaves as much as the one before, the first as much as usual."""
    grow(session, 50_000, 90_000, 120_000, 150_000)
    session.compact(160_000)
    grow(session, 40_000, 60_000)

    story, copy = play(f"compaction_tokens = 100000\n{QUIET}")

    assert story == [
        ("request", 1, "", 50_000),
        ("request", 2, "", 90_000),
        ("compacted", 3, "at the brim of 100,000", 120_000),
        ("request", 3, "", 50_000),
        ("request", 4, "", 80_000),
        ("postponed", 4, "not yet: 90,000 of 100,000", 90_000),
        ("request", 5, "", 90_000),
        ("compacted", 6, "at the brim of 100,000", 110_000),
        ("request", 6, "", 40_000),
    ]
    boundaries = [row for row in copy if row["type"] == "system"]
    assert [row["compactMetadata"]["preTokens"] for row in boundaries] == [120_000, 110_000]


@pytest.mark.parametrize(("size", "compacted"), [(99_999, False), (100_000, True), (100_001, True)])
def test_a_request_as_large_as_the_brim_is_compacted(
    session: SessionBuilder, play: Any, size: int, compacted: bool
) -> None:
    """What is smaller by one token is not."""
    grow(session, size, size + 1)

    story, _ = play(f"compaction_tokens = 100000\n{QUIET}")

    assert (story[0][0] == "compacted") is compacted


def test_a_later_brim_puts_a_compaction_off_but_not_one_that_was_asked_for(
    session: SessionBuilder, play: Any
) -> None:
    """The session goes on from where it was, by what was recorded."""
    grow(session, 90_000)
    session.compact(95_000)
    grow(session, 30_000, 35_000)
    session.compact(40_000, trigger="manual")
    grow(session, 10_000)

    story, _ = play(f"compaction_tokens = 180000\n{QUIET}")

    assert story == [
        ("request", 1, "", 90_000),
        ("postponed", 1, "not yet: 95,000 of 180,000", 95_000),
        ("request", 2, "", 95_000),
        ("request", 3, "", 100_000),
        ("compacted", 3, "as recorded", 105_000),
        ("request", 4, "", 10_000),
    ]


def test_what_is_kept_out_makes_all_that_follows_smaller(
    session: SessionBuilder, play: Any
) -> None:
    """By its tokens, until the next compaction; the call and its subject are named."""
    session.prompt("go")
    text = "".join(f"line {number} of a long log\n" for number in range(2_000))
    call = session.tool_call(30_000, command="cat  big.log")
    response = {"stdout": text, "stderr": "", "interrupted": False, "isImage": False}
    session.tool_result(call, text, toolUseResult=response)
    grow(session, 60_000)
    session.compact(70_000, trigger="manual")
    grow(session, 20_000)

    story, _ = play('guard.preset = "off"\n')

    kept_out = story[1]
    assert kept_out[:3] == ("offloaded", 1, "Bash cat big.log")
    saved = kept_out[3]
    assert saved is not None
    assert 8_000 < saved < len(text) / 2.85
    assert requests(story) == [30_000, 60_000 - saved, 20_000]
    assert story[-2] == ("compacted", 2, "as recorded", 70_000 - saved)
    assert requests(play()[0]) == [30_000, 60_000, 20_000]


def test_what_the_rooms_would_say_is_told_with_its_tier(
    session: SessionBuilder, play: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """At the request after which it comes; rows of subagents are not looked at."""
    session.row("assistant", isSidechain=True, message={"content": []})
    grow(session, 20_000, 165_000, 165_500)

    story, copy = play("compaction_tokens = 167000\n")

    assert [(kind, at) for kind, at, _, _ in story if kind == "said"] == [("said", 2)]
    assert not any(row["isSidechain"] for row in copy)
    assert capsys.readouterr().out == ""


def test_a_reply_of_several_rows_is_one_request(session: SessionBuilder, play: Any) -> None:
    """The call and the result of a tool are part of the turn."""
    session.prompt("go")
    session.reply(20_000, text_block("a"), text_block("b"))
    session.reply(25_000)

    story, copy = play()

    assert requests(story) == [20_000, 25_000]
    assert len(copy) == 4


@pytest.mark.parametrize(
    ("tool", "ceiling", "kinds"),
    [
        ("Skill", "warn", ["said"]),
        ("Skill", "strict", ["refused"]),
        ("Skill", "off", []),
        ("Bash", "strict", []),
    ],
)
def test_only_a_load_is_put_to_the_ceiling_before_it_runs(
    session: SessionBuilder, play: Any, tool: str, ceiling: str, kinds: list[str]
) -> None:
    """At the size of the request before it; a window that the user chose may be refused on."""
    grow(session, 90_000)
    call = session.tool_call(91_000, tool, skill="review", command="ls")
    session.tool_result(call, "ok")

    story, _ = play(f'context_window = 200000\nguard.ceiling = "{ceiling}"\n')

    heard = [(kind, at, tokens) for kind, at, _, tokens in story if kind != "request"]
    assert heard == [(kind, 1, 90_000) for kind in kinds]


def test_a_prompt_counts_by_its_length_alone_and_is_not_obeyed_again(
    session: SessionBuilder, play: Any
) -> None:
    """One that fills the window is told of a tier; one that silenced us then does not now."""
    grow(session, 60_000)
    session.prompt("/brim:off")
    session.prompt("a" * 200_000)
    session.reply(61_000)

    story, _ = play()
    assert [kind for kind, *_ in story] == ["request", "request"]
    story, _ = play("compaction_tokens = 167000\n")

    assert [(kind, at, tokens) for kind, at, _, tokens in story if kind == "said"] == [
        ("said", 1, 60_000)
    ]


def test_what_a_session_says_itself_is_no_prompt_and_a_result_without_a_call_is_none(
    session: SessionBuilder, play: Any
) -> None:
    """Only what the user typed is put to the rooms, and only results whose call is known."""
    grow(session, 60_000)
    session.reply(61_000, text_block("a" * 200_000))
    session.tool_result("toolu_unknown", "b" * 200_000)

    story, copy = play("compaction_tokens = 167000\n")

    assert [kind for kind, *_ in story] == ["request", "request"]
    assert len(copy) == 4


def test_a_session_that_begins_with_a_compaction_has_it_as_recorded(
    session: SessionBuilder, play: Any
) -> None:
    """Nothing is known yet of where it would be compacted."""
    session.compact(130_000)
    grow(session, 40_000)

    story, _ = play()

    assert story == [("compacted", 0, "as recorded", 130_000), ("request", 1, "", 40_000)]


def test_a_compaction_that_does_not_say_its_size_was_that_of_the_last_request(
    session: SessionBuilder, play: Any
) -> None:
    """As it was recorded."""
    grow(session, 50_000, 120_000)
    session.compact(0)
    grow(session, 40_000)

    story, _ = play()

    assert story[2] == ("compacted", 2, "as recorded", 120_000)
