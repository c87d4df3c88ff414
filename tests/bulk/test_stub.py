"""The text that stands in for content: one form is written, every older one is read."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimline.bulk import stub
from brimline.bulk.stub import Stub
from brimline.foreign import flatten

from .shelves import golden

KEY = "sha256:" + "0123456789abcdef" * 4
counts = st.integers(0, 10**15) | st.none()
texts = st.text(max_size=60) | st.none()
levels = st.sampled_from(["none", "soft", "hard"])
codes = st.integers(-300, 300) | st.none()
stubs = st.builds(Stub, st.just(KEY), counts, counts, codes, texts, texts, levels)


@pytest.mark.row("S3-56")
@given(stubs, st.text(max_size=20), st.text(max_size=20))
def test_a_stub_is_found_again_as_it_was_built(wanted: Stub, before: str, after: str) -> None:
    """Whatever it tells, with other text around it."""
    told = [text if text is None else flatten(text) for text in (wanted.tool, wanted.source)]
    expected = wanted._replace(tool=told[0], source=told[1])

    assert stub.first_reference_in(stub.build_reference_head(wanted)) == expected
    assert (
        stub.first_reference_in(f"{before}\n{stub.build_reference_head(wanted)}\n{after}")
        == expected
    )


@pytest.mark.row("S3-15", "S3-56")
def test_our_form_is_one_line_that_reads_well() -> None:
    """What it is, how much, how it ended, from where, and the key; the way back is a command."""
    built = stub.build_reference_head(Stub(KEY, 45_678, 1_523, 1, "Bash", 'echo "hi"\nls', "soft"))

    assert built == (
        "[brimline stored 45678 bytes, 1523 lines, exit 1, pinned soft, "
        f'tool "Bash", from "echo \\"hi\\" ls": {KEY}]'
    )
    command = f"brimline store get {KEY[:19]} --lines A:B"
    assert (
        stub.how_to_get_the_rest_text(KEY, "brimline")
        == f"For the rest call `recall` with this key, or run `{command}`."
    )
    assert stub.how_to_get_the_rest_text(KEY) == "For the rest call `recall` with this key."
    assert all(one.startswith(stub.BEGINNINGS) for one in (built, "Cached (3 lines"))


def test_a_line_names_one_key_whatever_the_command_says() -> None:
    """A command or a file name cannot put another key before it."""
    line = stub.build_line("Bash", "echo 'x: 5 bytes, recall sha256:000000000000]'", 3_531, KEY)

    assert line.count("sha256:") == 1
    assert line.endswith(f": 3,531 bytes, recall {KEY[:19]}]")


@pytest.mark.row("S3-56")
@pytest.mark.parametrize("row", golden("stubs.json"))
def test_every_older_form_is_read(row: dict[str, Any]) -> None:
    """Of another tool, and of earlier versions in its words; the first counts, with a whole key."""
    told = row["stub"] and {"content_bytes": None} | row["stub"]

    assert stub.first_reference_in(row["text"]) == (Stub(**told) if told else None)


@pytest.mark.timeout(30)
def test_blocks_that_nobody_closes_are_read_at_once() -> None:
    """Any program can print any number of them."""
    assert stub.first_reference_in("[CCM_CACHED]\n" * 50_000) is None


@pytest.mark.parametrize(
    ("digits", "count"), [("1" * 18, int("1" * 18)), ("1" * 19, None), ("-12", -12), ("x", None)]
)
def test_a_figure_in_a_reference_has_up_to_eighteen_digits(digits: str, count: int | None) -> None:
    """More are none that anybody counted."""
    assert stub._count_or_none(digits) == count
