"""The order of pruning, and what never goes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimline.store import plan
from brimline.store.plan import Holds, Limits
from brimline.store.scan import Blob

from .examples import thorough

NOW = 2_000_000_000 * 10**9
DAY = 86_400 * 10**9


def blob(name: str, size: int = 100, days: float = 1) -> Blob:
    """A blob that was last used so many days ago."""
    return Blob(name, size, NOW - int(days * DAY), NOW)


def names(chosen: plan.Plan) -> str:
    """What goes, in order."""
    return "".join(one.digest for one in chosen.chosen)


@pytest.mark.row("S3-62", "S3-67")
def test_by_age_goes_what_was_not_used_for_so_long_and_is_not_pinned() -> None:
    """The longest unused first; neither soft nor hard pins go by age."""
    blobs = [blob("a", days=31), blob("b", days=29), blob("c", days=90), blob("d", days=90)]
    blobs += [blob("e", days=90), blob("f", days=90)]
    holds = Holds({"d": "soft", "e": "hard"}, {"f"})

    chosen = plan.choose(blobs, holds, Limits(max_age_s=30 * 86_400), NOW)

    assert names(chosen) == "ca"
    assert chosen.by_age == 2


@pytest.mark.row("S3-62", "S3-63", "S3-64", "S3-68")
@pytest.mark.parametrize(
    ("max_bytes", "wanted", "shortfall"),
    [
        (600, "", 0),
        (599, "b", 0),
        (400, "ba", 0),
        (350, "baf", 0),
        (200, "bafc", 0),
        (150, "bafc", 50),
        (0, "bafc", 200),
    ],
)
def test_by_size_soft_pins_go_after_everything_that_is_not_pinned(
    max_bytes: int, wanted: str, shortfall: int
) -> None:
    """Last used longest ago first, until it fits; hard pins and mentioned blobs stay."""
    blobs = [
        blob("a", days=2),
        blob("b", days=5),
        blob("c", days=50),
        blob("d", days=90),
        blob("e", days=90),
        blob("f", days=1),
    ]
    holds = Holds({"c": "soft", "d": "hard"}, {"e"})

    chosen = plan.choose(blobs, holds, Limits(max_bytes=max_bytes), NOW)

    assert names(chosen) == wanted
    assert chosen.total_bytes - chosen.freed_bytes <= max_bytes + shortfall
    assert chosen.shortfall_bytes == shortfall
    assert chosen.held_bytes == ({"hard": 100, "referenced": 100} if shortfall else {})


@pytest.mark.row("S3-68")
def test_of_blobs_of_one_age_the_largest_goes_first() -> None:
    """So that fewer have to go."""
    blobs = [blob("a", 10), blob("b", 500), blob("c", 90)]

    assert names(plan.choose(blobs, Holds(), Limits(max_bytes=100), NOW)) == "b"


def test_a_forced_key_may_go_whatever_holds_it_but_goes_last() -> None:
    """Forcing names what may go; the limits decide whether it does."""
    blobs = [blob("a", days=90), blob("b", days=1), blob("c", days=1), blob("d", days=90)]
    holds = Holds({"a": "hard", "c": "soft"}, {"a", "d"}, {"a"})

    assert names(plan.choose(blobs, holds, Limits(max_bytes=200), NOW)) == "bc"
    assert names(plan.choose(blobs, holds, Limits(max_bytes=0), NOW)) == "bca"
    assert names(plan.choose(blobs, holds, Limits(max_age_s=30 * 86_400), NOW)) == "a"


def test_a_time_in_the_future_is_never_old() -> None:
    """After the clock went back, nothing goes early."""
    blobs = [blob("a", days=-40), blob("b", days=0)]
    limits = Limits(max_age_s=86_400, max_bytes=0, grace_s=3_600)

    chosen = plan.choose(blobs, Holds(), limits, NOW - 5 * DAY)

    assert names(chosen) == ""
    assert chosen.held_bytes == {"recent": 200}
    assert chosen.shortfall_bytes == 200


@pytest.mark.row("S3-69")
def test_garbage_is_what_nothing_mentions_pins_or_used_just_now() -> None:
    """A soft pin holds as well as a hard one."""
    blobs = [blob("a"), blob("b"), blob("c"), blob("d"), blob("e", days=0.01)]

    chosen = plan.unreferenced(blobs, Holds({"b": "soft", "c": "hard"}, {"d"}), 3_600, NOW)

    assert names(chosen) == "a"
    assert (chosen.freed_bytes, chosen.total_bytes) == (100, 500)


@thorough
@given(
    facts=st.lists(
        st.tuples(
            st.integers(0, 300),
            st.floats(0, 60),
            st.sampled_from(["none", "soft", "hard"]),
            st.booleans(),
        ),
        max_size=30,
    ),
    max_days=st.none() | st.integers(0, 40),
    max_bytes=st.none() | st.integers(0, 4_000),
)
def test_the_promises_hold_for_every_store(
    facts: list[tuple[int, float, str, bool]], max_days: int | None, max_bytes: int | None
) -> None:
    """Nothing held goes, no soft pin while an unpinned one could, and the shortfall is exact."""
    blobs = [blob(f"{n:02}", size, days) for n, (size, days, _, _) in enumerate(facts)]
    levels = {f"{n:02}": level for n, (_, _, level, _) in enumerate(facts)}
    mentioned = {f"{n:02}" for n, fact in enumerate(facts) if fact[3]}
    limits = Limits(None if max_days is None else max_days * 86_400, max_bytes)

    chosen = plan.choose(blobs, Holds(levels, mentioned), limits, NOW)

    gone = {one.digest for one in chosen.chosen}
    assert len(gone) == len(chosen.chosen)
    assert not gone & mentioned
    assert "hard" not in {levels[name] for name in gone}
    if "soft" in {levels[name] for name in gone}:
        free = {name for name, level in levels.items() if level == "none"} - mentioned
        assert free <= gone
    left = chosen.total_bytes - chosen.freed_bytes
    if max_bytes is not None:
        assert left - max_bytes <= chosen.shortfall_bytes
        assert chosen.shortfall_bytes == max(0, left - max_bytes)
