"""What was already said beside the tiers: claimed once, released again, damage survived."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from brimline.state import marks
from brimline.state.session import SessionState


def test_an_advice_is_claimed_once(home_dir: str) -> None:
    """Of any number of claims on a bucket and band the first gets it."""
    assert marks.claim_ceiling(_state(home_dir), 10, 1)
    assert not marks.claim_ceiling(_state(home_dir), 10, 1)
    assert marks.claim_ceiling(_state(home_dir), 10, 2)

    assert sorted(marks.ceiling_marks(_state(home_dir))) == [(10, 1), (10, 2)]


def test_a_released_advice_can_be_claimed_again(home_dir: str) -> None:
    """Releasing one that is not there is fine."""
    marks.claim_ceiling(_state(home_dir), 10, 1)
    for _ in range(2):
        marks.release_ceiling(_state(home_dir), 10, 1)

    assert marks.ceiling_marks(_state(home_dir)) == []
    assert marks.claim_ceiling(_state(home_dir), 10, 1)


def test_of_parallel_claims_exactly_one_wins(home_dir: str) -> None:
    """However many hooks try at once."""
    with ThreadPoolExecutor(16) as pool:
        won = list(pool.map(lambda _: marks.claim_ceiling(_state(home_dir), 9, 1), range(64)))

    assert sum(won) == 1


@pytest.mark.parametrize(
    "name",
    [
        "ceiling-",
        "ceiling-10",
        "ceiling-10.",
        "ceiling-.1",
        "ceiling-x.y",
        "ceiling-10.1.tmp",
        "10.1",
        "spoke-L1",
    ],
)
def test_other_names_are_no_advice(name: str, home_dir: str) -> None:
    """Foreign files in the folder are not taken for marks."""
    folder = Path(_state(home_dir).folder)
    folder.mkdir(parents=True)
    (folder / name).write_bytes(b"")

    assert marks.ceiling_marks(_state(home_dir)) == []


def test_a_band_is_entered_once_until_it_was_left(home_dir: str) -> None:
    """Up is news, staying and going down are not, going up again is."""
    entered = [
        marks.enter_quota_band(_state(home_dir), "5h", band) for band in (0, 1, 1, 2, 2, 1, 2, 0, 1)
    ]

    assert entered == [False, True, False, True, False, False, True, False, True]


def test_a_skipped_band_counts_as_entered(home_dir: str) -> None:
    """From critical back to warning nothing new is to be told."""
    assert marks.enter_quota_band(_state(home_dir), "5h", 2)

    assert not marks.enter_quota_band(_state(home_dir), "5h", 1)


def test_limits_have_marks_of_their_own(home_dir: str) -> None:
    """One limit's band says nothing about another's."""
    assert marks.enter_quota_band(_state(home_dir), "5h", 1)
    assert marks.enter_quota_band(_state(home_dir), "7d", 1)


def test_the_reminder_is_remembered_with_its_prompts(home_dir: str) -> None:
    """Nothing was given before the first time."""
    assert marks.reminder(_state(home_dir)) == ("", 0)
    marks.remember_reminder(_state(home_dir), "0123456789abcdef", 7)

    assert marks.reminder(_state(home_dir)) == ("0123456789abcdef", 7)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", ("", 0)),
        (b"abc", ("abc", 0)),
        (b"abc ", ("abc", 0)),
        (b"abc x", ("abc", 0)),
        (b"abc -1", ("abc", 0)),
        (b"abc 3", ("abc", 3)),
    ],
)
def test_a_damaged_reminder_counts_from_the_start(
    content: bytes, found: tuple[str, int], home_dir: str
) -> None:
    """At worst it is given once too often."""
    marks.remember_reminder(_state(home_dir), "abc", 5)
    Path(_state(home_dir).folder, "reminder").write_bytes(content)

    assert marks.reminder(_state(home_dir)) == found


def test_a_reminder_that_cannot_be_read_was_not_given(home_dir: str) -> None:
    """A folder in its place is no failure."""
    Path(_state(home_dir).folder, "reminder").mkdir(parents=True)

    assert marks.reminder(_state(home_dir)) == ("", 0)


def _state(home_dir: str) -> SessionState:
    """The session as the next hook would find it."""
    return SessionState(home_dir, "abc")
