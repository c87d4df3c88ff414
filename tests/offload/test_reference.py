"""The text that stands in for an output, as the model reads it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimline.offload.decide import reason_to_pass
from brimline.offload.preview import make_preview
from brimline.offload.reference import reference
from brimline.store import put, read, stub

KEY = "sha256:" + "3f2a9c01" * 8


def meta(**fields: Any) -> dict[str, Any]:
    """What the store notes down of an output."""
    return {"key": KEY, "bytes": 45_678, "lines": 1_523, "tool": "Bash", "source": "make"} | fields


def test_the_first_line_says_what_it_is_and_the_last_how_to_get_more() -> None:
    """Bytes, lines, exit code and key come first, the command that fetches lines comes last."""
    preview = make_preview("".join(f"step {i}\n" for i in range(1_523)), "Bash", "make")

    first, *middle, last = reference(meta(exit=0), preview).split("\n")

    assert first == (
        f'[brimline stored 45678 bytes, 1523 lines, exit 0, tool "Bash", from "make": {KEY}] '
        "Preview, not the whole:"
    )
    assert "\n".join(middle) == preview.text
    assert last.endswith("The rest: brimline store get sha256:3f2a9c013f2a --lines A:B.")


def test_the_stub_of_a_file_says_that_the_file_can_be_read_again() -> None:
    """A second Read passes, and the model has to know that."""
    preview = make_preview("func main() {}\n" * 900, "Read", "/src/main.go")

    text = reference(meta(tool="Read", source="/src/main.go"), preview)

    assert text.endswith("--lines A:B, or Read it again.")


def test_ranges_are_explained_where_lines_were_left_out() -> None:
    """The notation is spelt out once, and only where it occurs."""
    numbered = make_preview("".join(f"part {i}\n" for i in range(900)), "Bash", "make")
    described = make_preview('[{"a": 1}, {"a": 2}]', "Bash", "gh api")

    assert '("A-B: x … y": line A, then names in' in reference(meta(), numbered)
    assert '("A-B' not in reference(meta(), described)


@pytest.mark.parametrize(
    ("tool", "source", "shown"),
    [
        ("Bash", "echo start && " + "x" * 200, "echo start && xxx"),
        ("Read", "/very/long" + "/folder" * 30 + "/name.go", "/folder/name.go"),
    ],
)
def test_a_long_source_is_cut_where_it_says_least(tool: str, source: str, shown: str) -> None:
    """Commands keep their beginning, paths their end."""
    first = reference(meta(tool=tool, source=source), make_preview("x")).split("\n")[0]

    assert shown in first
    assert len(first) < 250


@given(source=st.text(max_size=200), exit_code=st.none() | st.integers(-9, 255))
def test_the_key_is_found_again_in_any_stub(source: str, exit_code: int | None) -> None:
    """Whatever the command was, the stub names its blob and is never offloaded itself."""
    text = reference(meta(source=source, exit=exit_code), make_preview("some\noutput\n"))

    found = stub.parse(text)

    assert found is not None
    assert (found.key, found.content_bytes, found.exit_code) == (KEY, 45_678, exit_code)
    assert reason_to_pass("Bash", {"command": "make"}, text * 100)


@pytest.mark.row("S2-10")
def test_two_hundred_kilobytes_become_a_stub_whose_key_gives_every_byte_back(home_dir: str) -> None:
    """What the stub stands for can be had by what it says, in whole and by line numbers."""
    output = "".join(f"{i} ok\tтест\r\n" for i in range(14_000)).encode()
    key = put.put(home_dir, output, {"tool": "Bash", "source": "make"})

    text = reference(
        meta(key=key, bytes=len(output), lines=14_000),
        make_preview(output.decode(), "Bash", "make"),
    )

    command = text.rpartition("brimline store get ")[2].split()[0]
    stored = read.get(home_dir, read.resolve(home_dir, command))
    assert len(output) > 200_000
    assert len(text) < 2_500
    assert stored == output
    assert stored.splitlines(keepends=True)[100] == "100 ok\tтест\r\n".encode()
