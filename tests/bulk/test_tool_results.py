"""What each tool answers, and its answer with another text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimline.bulk.tool_results import parse_answer
from brimline.hooks import entry

if TYPE_CHECKING:
    from brimline.hooks.turn import Turn

    from .conftest import Player

GOLDEN = json.loads((Path(__file__).parent / "golden/answers.json").read_text(encoding="utf-8"))
BASH = GOLDEN[0]["response"]


@pytest.mark.parametrize("row", GOLDEN, ids=lambda row: row["tool"])
def test_an_answer_has_its_text_and_keeps_its_shape_when_replaced(row: dict[str, Any]) -> None:
    """Every key that was there, notes, pictures; an exit code is claimed only where it is known."""
    found = parse_answer(
        row["tool"], {"command": "make"} if row["tool"] == "Bash" else {}, row["response"]
    )

    assert (found.text if found else None) == row["text"]
    lines = found and found.lines and list(found.lines)
    assert (found and [found.subject, found.exit_code, found.note, lines]) == row["told"]
    assert (found.replaced("NEW") if found else None) == row["replaced"]
    assert found is None or found.data == found.text.encode()


def test_an_output_on_disk_is_taken_from_there(tmp_path: Path) -> None:
    """The answer holds only its beginning; what is not text is kept, and an error stream."""
    path = tmp_path / "out put.txt"
    path.write_bytes(b"whole \xff output\n")
    extra = {"persistedOutputPath": str(path), "persistedOutputSize": 15}

    found = parse_answer("Bash", {}, BASH | extra)
    noisy = parse_answer("Bash", {}, BASH | extra | {"stderr": "e" * 2_000})

    assert found is not None
    assert (found.data, found.was_persisted) == (b"whole \xff output\n", True)
    assert found.replaced("NEW").keys() == BASH.keys()
    assert noisy is not None
    assert noisy.data == b"whole \xff output\n\n" + b"e" * 2_000
    assert parse_answer("Bash", {}, BASH | extra | {"persistedOutputSize": 16}) is None
    path.unlink()
    assert parse_answer("Bash", {}, BASH | extra) is None


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=8,
)


@given(tool=st.sampled_from([row["tool"] for row in GOLDEN]), response=_JSON)
def test_no_answer_raises(tool: str, response: Any) -> None:
    """Foreign data of any shape is either understood or left alone."""
    found = parse_answer(tool, {}, response)
    assert found is None or isinstance(found.text, str)


@pytest.mark.parametrize(
    ("error", "is_said"),
    [
        (f"Exit code 1\n{'x' * 5_000}\n\n... [20012 characters truncated] ...\n\nyy", True),
        (f"Exit code 1\n{'x' * 5_000}\n\n... [3904 characters truncated] ...\n\nyy", False),
        ("Exit code 1\nsmall", False),
        ("Exit code 1\n... [many characters truncated] ...", False),
        (None, False),
    ],
)
def test_a_failure_whose_end_the_client_lost_is_said_to_have_no_end(
    player: Player, error: str | None, is_said: bool
) -> None:
    """Of a failing command the client shows both ends of its first 30,000 characters."""
    turn = player.turn("PostToolUseFailure", tool_name="Bash", error=error)
    answer = entry.respond("PostToolUseFailure", _raw(turn), player.home_dir).decode()

    assert ("its end is missing. Run it again with `2>&1 | tail -60`." in answer) == is_said
    assert is_said or not answer


def _raw(turn: Turn) -> bytes:
    return json.dumps(turn.event.payload).encode()
