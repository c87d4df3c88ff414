"""What an error says, and when it is over."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimline.carry import failures


def test_a_short_error_is_kept_whole() -> None:
    """Without the exit code and the client's tags."""
    text = "Exit code 4\n<tool_use_error>fails</tool_use_error>\n\nhere"

    assert failures.telling(text) == "fails / here"


def test_a_line_unlike_the_others_is_telling_though_it_has_no_known_word() -> None:
    """Progress reports are all alike."""
    log = [f"step {number} of 400 through" for number in range(100)]

    assert "NaN in loss at 7195" in failures.telling("\n".join([*log, "NaN in loss at 7195", *log]))


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("make test", ["make", "test"]),
        ("cd app && FOO=1 go test ./a -run X 2>&1 | tail -5", ["go", "test", "./a", "X"]),
        ("sudo make install > log", ["make", "install"]),
        ("", []),
        ("   ", []),
        ("cd x", ["cd", "x"]),
    ],
)
def test_a_command_is_known_by_what_it_does(command: str, expected: list[str]) -> None:
    """Folders, variables, flags and pipes apart."""
    assert failures.pattern(command) == expected


@pytest.mark.parametrize(
    ("failed", "passed", "expected"),
    [
        ("go test ./a", "go test ./a", True),
        ("go test ./a -run X", "go test ./a", True),
        ("go test ./a", "go vet ./a", False),
        ("go test ./a", "go test ./b", False),
        ("make a", "make b", False),
        ("./run.sh x", "./run.sh", True),
        ("", "make", False),
    ],
)
def test_the_same_or_a_broader_command_makes_up_for_a_failure(
    failed: str, passed: str, *, expected: bool
) -> None:
    """Another target does not."""
    assert failures.passes(failures.pattern(failed), failures.pattern(passed)) is expected


def test_only_checks_fail_behind_a_pipe() -> None:
    """A search that finds the word has not failed."""
    output = "FAILED tests/a.py::b - KeyError"

    assert failures.hidden("grep -rn FAILED test.log", output) == ""
    assert failures.hidden("pytest | tail", output) == output
    assert failures.hidden("pytest | tail", "3 passed") == ""


@given(st.text(), st.text())
def test_any_text_can_be_looked_at(command: str, text: str) -> None:
    """No text raises, and what is told has a size."""
    assert len(failures.telling(text)) <= 800
    failures.reported(text)
    failures.hidden(command, text)
    failures.passes(failures.pattern(command), failures.pattern(text))
