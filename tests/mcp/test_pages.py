"""Pages: every line is reached, none is lost on the way, and no answer is too long."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from brimline.mcp import pages
from brimline.store.contents import Span, span

LINE = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=60)


@settings(deadline=None, database=None)
@given(st.lists(LINE, min_size=1, max_size=12), st.integers(8, 90))
def test_asking_for_the_next_again_and_again_gives_all_of_it(texts: list[str], room: int) -> None:
    """Nothing is missing, nothing comes twice, and every page fits."""
    lines = [text.encode() for text in texts]
    asked = f"1:{len(lines)}"
    shown = ""
    for _ in range(2_000):
        page = pages.fill(lines, span(asked, len(lines)), room)
        assert pages.width(page.text) <= room
        shown += page.text
        asked = page.rest
        if not asked:
            break
        shown += "" if "@" in asked else "\n"

    assert shown == "\n".join(texts)


def test_a_line_too_long_for_one_answer_is_shown_in_parts() -> None:
    """The part says where in the line it lies."""
    page = pages.fill([b"first", b"x" * 50], Span(2, 2), 20)

    assert page == ("x" * 20, 2, "2@21:2", (1, 20, 50))
    assert pages.fill([b"first", b"x" * 50], Span(2, 2, 40), 20) == ("x" * 10, 2, "", None)


def test_characters_are_counted_as_the_client_counts_them() -> None:
    """Rare ones are two to it, and are never cut in half."""
    assert pages.width("a𝄞b") == 4
    assert pages.cut("𝄞𝄞𝄞", 5) == "𝄞𝄞"
    assert pages.width("\ud800") == 1


def test_bytes_that_are_no_text_become_visible() -> None:
    """The model sees that there is something."""
    assert pages.decoded(b"a\xff\xc3\xbc") == "a\\xffü"


def test_a_long_command_keeps_its_beginning_and_its_end() -> None:
    """On one line."""
    assert pages.one_line("  a\n b ", 20) == "a b"
    assert pages.one_line("0123456789" * 3, 10) == "0123…56789"
