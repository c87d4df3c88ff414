"""The replay of offloading counts what it says it counts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from benchmarks.conversation import Segment

    from brimline.testing import SessionBuilder

ROOT = Path(__file__).parent.parent
BULK = "".join(f"line {i} is nothing that anybody would ever ask for again\n" for i in range(400))


@pytest.fixture(autouse=True)
def checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the `benchmarks` package of the checkout importable."""
    monkeypatch.syspath_prepend(str(ROOT))


def converse(session: SessionBuilder, output: str, *then: str, tokens: int = 120_000) -> Segment:
    """A session in which one large output is followed by what the assistant says about it."""
    from benchmarks import conversation

    from brimline.testing import text_block

    session.prompt("go")
    call = session.tool_call(40_000, "Bash", command="make all")
    session.tool_result(call, output)
    for text in then:
        session.reply(tokens, text_block(text))
    (segment,) = conversation.read(session.path)
    return segment


def test_the_share_saved_is_that_of_the_fullest_request(session: SessionBuilder) -> None:
    """Characters kept out, as tokens of the model, over what the request held."""
    from benchmarks import replay

    from brimline.gauge.reading import characters_per_token

    segment = converse(session, BULK, "Done.")
    (score,) = replay.judge([segment], lambda _item, _content: "short")

    expected = (len(BULK) - len("short")) / characters_per_token(session.model)
    assert segment.fullest_tokens == 120_000
    assert score.saved_tokens == pytest.approx(expected)
    assert replay.saved([score]) == pytest.approx(expected / 120_000)


def test_a_name_counts_as_kept_where_the_stub_shows_it(session: SessionBuilder) -> None:
    """Of two names that the assistant goes on to use, the stub holds one."""
    from benchmarks import replay

    output = BULK + "see pkg/keeper.go and lostSymbolName\n"
    segment = converse(session, output, "I will open pkg/keeper.go, then lostSymbolName.")
    (score,) = replay.judge([segment], lambda _item, _content: "… pkg/keeper.go")

    assert score.uses[0] == (2, 1)
    assert score.short == 1


def test_a_name_known_before_is_nobodys_loss(session: SessionBuilder) -> None:
    """What the prompt already named does not have to be in the stub."""
    from benchmarks import replay

    session.prompt("look at knownSymbolName")
    segment = converse(session, BULK + "knownSymbolName\n", "knownSymbolName it is.")
    (score,) = replay.judge([segment], lambda _item, _content: "nothing")

    assert score.uses[0] == (0, 0)


def test_a_name_in_another_result_before_its_use_counts_as_kept(session: SessionBuilder) -> None:
    """The assistant found it again by itself."""
    from benchmarks import conversation, replay

    converse(session, BULK + "foundAgainName\n", "Let me search.")
    call = session.tool_call(121_000, "Bash", command="rg found")
    session.tool_result(call, "a.go: foundAgainName")
    session.tool_call(122_000, "Bash", command="sed -n 1p foundAgainName")
    (score,) = replay.judge(conversation.read(session.path), lambda _item, _content: "nothing here")

    assert score.uses[0] == (1, 1)


def test_a_use_after_forty_blocks_does_not_count(session: SessionBuilder) -> None:
    """By then it is somebody else's business."""
    from benchmarks import replay

    texts = ["Thinking about it."] * 40
    segment = converse(session, BULK + "lateSymbolName\n", *texts, "lateSymbolName!")
    (score,) = replay.judge([segment], lambda _item, _content: "nothing")

    assert score.uses[0] == (0, 0)


def test_the_shipped_preview_beats_head_errors_and_tail(session: SessionBuilder) -> None:
    """Names from the middle of a program survive."""
    from benchmarks import replay

    body = "\tif err != nil {\n\t\treturn err // and so on, as in all the others\n\t}\n" * 6
    program = "".join(
        f"func stepNumber{i}() error {{\n\treturn runner.executePart{i}(config)\n{body}}}\n\n"
        for i in range(30)
    )
    segment = converse(session, program, "executePart12 fails, so does stepNumber15.")

    assert replay.kept(replay.judge([segment], replay.make_product())) == 1.0
    assert replay.kept(replay.judge([segment], replay.make_baseline)) < 1.0


def test_a_file_is_replayed_as_the_hook_sees_it_and_shown_as_the_client_would(
    session: SessionBuilder,
) -> None:
    """Line numbers are taken off before the decision and put back on every line of the stub."""
    from benchmarks import conversation, replay

    from brimline.offload.decide import DEFAULT

    numbered = "\n".join(f"{i:6}→func part{i}() {{}} // some words" for i in range(1, 1_200))
    call = session.tool_call(40_000, "Read", file_path="/src/a.go")
    session.tool_result(call, numbered + "\n\n<system-reminder>\nMind.\n</system-reminder>\n")
    session.reply(120_000)
    (segment,) = conversation.read(session.path)

    stubs = replay.replay(segment, lambda _item, content: content[:26], DEFAULT, set())
    (stub,) = stubs.values()

    assert stub.startswith("     1→func part1() {} // some wo\n<system-reminder>")


def test_a_file_passes_once_its_preview_was_shown_also_after_a_compaction(
    session: SessionBuilder,
) -> None:
    """The hook remembers it for the whole session."""
    from benchmarks import conversation, replay

    for _ in range(2):
        call = session.tool_call(40_000, "Read", file_path="/src/a.go")
        session.tool_result(call, "     1→" + BULK)
        session.reply(120_000)
        session.compact(120_000)
    scores = replay.judge(conversation.read(session.path), replay.make_product())

    assert [len(score.stubs) for score in scores] == [1, 0]


def test_failures_and_pictures_cannot_be_replaced(session: SessionBuilder) -> None:
    """A hook has no way to swap them."""
    from benchmarks import conversation, replay

    call = session.tool_call(40_000, "Bash", command="make")
    block = {"type": "tool_result", "tool_use_id": call, "content": BULK, "is_error": True}
    session.row("user", message={"role": "user", "content": [block]})
    picture = [{"type": "text", "text": BULK}, {"type": "image", "source": {}}]
    session.row("user", message={"role": "user", "content": [{**block, "content": picture}]})
    session.reply(120_000)
    (score,) = replay.judge(conversation.read(session.path), replay.make_baseline)

    assert score.stubs == {}


def test_the_table_is_printed_for_the_sessions_named(session: SessionBuilder) -> None:
    """One command, one table; without a full segment it says so."""
    converse(session, BULK, "Done.")
    script = [sys.executable, str(ROOT / "benchmarks/offload.py"), session.path]

    done = subprocess.run(
        [*script, "--sessions", "--split"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "1 segments of 1 sessions" in done.stdout
    assert "head + errors + tail" in done.stdout

    Path(session.path).write_text("{}\n", encoding="utf-8")
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "No segment reached 100,000 tokens.\n"


@pytest.mark.parametrize(("lines", "expected"), [(500, 1), (5_000, 0)])
def test_the_check_fails_where_the_target_is_missed(
    session: SessionBuilder, lines: int, expected: int
) -> None:
    """Too little saved is exit code 1, and the last line says what was asked for."""
    output = "".join(f"nothing to see in line {i}\n" for i in range(lines))
    converse(session, output, "Done.")
    script = [sys.executable, str(ROOT / "benchmarks/offload.py"), session.path]

    done = subprocess.run([*script, "--check"], capture_output=True, text=True, check=False)

    assert done.returncode == expected
    assert done.stdout.splitlines()[-1].startswith(f"Target {'missed' if expected else 'held'}: ")
    assert subprocess.run(script, capture_output=True, check=False).returncode == 0


def test_the_interval_is_that_of_whole_sessions(session: SessionBuilder) -> None:
    """One session says nothing about others, so there is nothing between its bounds."""
    from benchmarks import offload_table, replay

    scores = replay.judge([converse(session, BULK, "Done.")], replay.make_product())

    low, high = offload_table.interval(scores, replay.mean_saved)
    assert low == high == replay.mean_saved(scores)


def test_a_file_that_cannot_be_read_ends_the_run_in_one_sentence(world: Path) -> None:
    """Trouble is one line and a non-zero exit code."""
    missing = world / "missing.jsonl"
    script = [sys.executable, str(ROOT / "benchmarks/offload.py"), str(missing)]

    done = subprocess.run(script, capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert done.stderr == f"Cannot read {missing}: No such file or directory.\n"
