"""The text that stands in for content: one form is written, every older one is read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimline.store import stub
from brimline.store.stub import Stub

from .examples import thorough

KEY = "sha256:" + "0123456789abcdef" * 4
counts = st.integers(0, 10**15) | st.none()
texts = st.text(max_size=60) | st.none()
stubs = st.builds(
    Stub,
    st.just(KEY),
    counts,
    counts,
    exit_code=st.integers(-300, 300) | st.none(),
    tokens=counts,
    tool=texts,
    source=texts,
    pinned=st.sampled_from(["none", "soft", "hard"]),
)


@pytest.mark.row("S3-56")
@thorough
@given(stubs, st.text(max_size=20), st.text(max_size=20))
def test_a_stub_is_found_again_as_it_was_built(wanted: Stub, before: str, after: str) -> None:
    """Whatever it tells, with other text around it."""
    assert stub.parse(stub.build(wanted)) == wanted
    assert stub.parse(f"{before}\n{stub.build(wanted)}\n{after}") == wanted


@pytest.mark.row("S3-15", "S3-56")
def test_our_form_is_one_line_that_reads_well() -> None:
    """What it is, how much, how it ended, from where, and the key."""
    built = stub.build(
        Stub(KEY, 45_678, 1_523, exit_code=1, tokens=11_420, tool="Bash", source='echo "hi"\nls')
    )

    assert built == (
        "[brimline stored 45678 bytes, 1523 lines, exit 1, ~11420 tokens, "
        f'tool "Bash", from "echo \\"hi\\"\\nls": {KEY}]'
    )


@pytest.mark.row("S3-56")
@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (
            f"key: {KEY}\nsource: Bash cat a\nbytes: 45678\n~tokens: 11k\nlines: 9\nsee: CLAUDE.md",
            Stub(KEY, 45_678, 9, tokens=11_000, source="Bash cat a"),
        ),
        (f"key: {KEY}\n~tokens: 2k\nlines: 40", Stub(KEY, None, 40, tokens=2_000)),
        (
            f'key: {KEY}\nsource: "$HOME/x" --flag\nbytes: many\npinned: firm',
            Stub(KEY, None, source='"$HOME/x" --flag'),
        ),
        (
            f'key: {KEY}\npath: ~/x\ntool: Bash\nsource: "a\\nb"\nbytes: 7\nexit: 0\npinned: soft',
            Stub(KEY, 7, exit_code=0, tool="Bash", source="a\nb", pinned="soft"),
        ),
    ],
)
def test_every_older_form_is_read(body: str, wanted: Stub) -> None:
    """Of another tool, and of earlier versions in its words."""
    assert stub.parse(f"None - [CCM_CACHED]\n{body}\n[/CCM_CACHED]") == wanted


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain output",
        "[CCM_CACHED]\nkey: sha256:abc\n[/CCM_CACHED]",
        f"[CCM_CACHED]\nkey: {KEY}",
        "[brimline stored 5 bytes: sha256:12]",
        f"[brimline stored -5 bytes: {KEY}]",
    ],
)
def test_what_is_no_stub_is_none(text: str) -> None:
    """A stub has a complete key."""
    assert stub.parse(text) is None


def test_the_first_stub_of_a_text_counts() -> None:
    """Whichever form it has."""
    ours, other = stub.build(Stub(KEY, 1)), f"[CCM_CACHED]\nkey: {KEY}\nbytes: 2\n[/CCM_CACHED]"

    assert stub.parse(f"{ours}\n{other}") == Stub(KEY, 1)
    assert stub.parse(f"{other}\n{ours}") == Stub(KEY, 2)


@pytest.mark.row("S3-15")
def test_the_way_back_is_a_command() -> None:
    """With as much of the key as it takes; every form is known by its beginning."""
    assert stub.way_back(KEY) == f"The rest: brimline store get {KEY[:19]} --lines A:B."
    texts = (stub.build(Stub(KEY, 1)), "Cached (3 lines")
    assert all(text.startswith(stub.BEGINNINGS) for text in texts)
