"""Which outputs are kept out of the context, and which pass."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimline.offload import decide as deciding
from brimline.offload.decide import CCM, DEFAULT, Rules, is_worth_it, reason_to_pass
from brimline.offload.preview import make_preview
from brimline.offload.reference import reference

INLINE_TOOLS = ["Bash", "Grep", "Glob", "WebFetch", "WebSearch", "Agent", "Task", "mcp__x__list"]
LONG = "some line of output\n" * 10_000
REASONS = {text for name, text in vars(deciding).items() if name.isupper() and type(text) is str}


def reason(tool: str, text: str = LONG, **asked: Any) -> str | None:
    """Why an output passes; None where it is replaced."""
    return reason_to_pass(tool, asked, text)


@pytest.mark.parametrize("tool", INLINE_TOOLS)
def test_output_over_eight_thousand_bytes_is_replaced(tool: str) -> None:
    """The threshold itself still passes."""
    assert reason(tool, "x" * 8_000) == deciding.SMALL
    assert reason(tool, "x" * 8_001) is None


def test_bytes_count_and_not_characters() -> None:
    """Four thousand umlauts are eight thousand bytes."""
    assert reason("Bash", "ä" * 4_000) == deciding.SMALL
    assert reason("Bash", "ä" * 4_001) is None


def test_a_file_counts_as_large_as_the_model_would_see_it() -> None:
    """The client numbers every line, and in source code the numbers count."""
    assert reason("Read", "x" * 12_000, file_path="/a.go") is None
    assert reason("Read", "x" * 11_900, file_path="/a.go") == deciding.SMALL
    assert reason("Read", "x" * 24_999, file_path="/a.txt") == deciding.SMALL
    assert reason("Read", "x" * 25_000, file_path="/a.txt") is None
    assert reason("Read", ("x" * 20 + "\n") * 600, file_path="/a.go") is None


@pytest.mark.parametrize("character", ["x", "ä", "\ud800"])
def test_a_huge_text_is_large_without_its_bytes_being_counted(character: str) -> None:
    """Characters alone say that it is over every limit."""
    huge = character * 200_000

    assert reason("Bash", huge) is None
    assert reason("Read", huge, file_path="/a/package-lock.json") is None
    patient = Rules({"Bash": 900_000}, least_tokens=0, least_ratio=0)
    assert reason_to_pass("Bash", {}, huge, patient) == deciding.SMALL


@pytest.mark.row("S3-26")
def test_the_preset_of_the_source_has_its_thresholds_without_a_guard() -> None:
    """2,000 bytes pass and 2,001 do not; of a file 24,999 pass and 25,000 do not."""
    sizes = [("Bash", 2_000), ("Bash", 2_001), ("Read", 24_999), ("Read", 25_000)]
    reasons = [
        reason_to_pass(tool, {"file_path": "/a.go"}, ("x\n" * size)[:size], CCM)
        for tool, size in sizes
    ]

    assert reasons == [deciding.SMALL, None, deciding.SMALL, None]
    assert is_worth_it("short", "a stub that is longer", CCM, 2.85)


@pytest.mark.parametrize("tool", ["Edit", "Write", "TodoWrite", "NotebookEdit", "", "Mystery"])
def test_an_unknown_tool_passes(tool: str) -> None:
    """Only outputs whose shape is known can be replaced."""
    assert reason(tool) == deciding.UNKNOWN_TOOL


@pytest.mark.row("S3-18")
@pytest.mark.parametrize("asked", [{"offset": 1}, {"limit": 2_000}, {"offset": 0, "limit": 5}])
def test_a_page_of_a_file_passes(asked: dict[str, Any]) -> None:
    """Whoever asks for lines gets them."""
    assert reason("Read", file_path="/a.go", **asked) == deciding.PAGE


def test_a_second_look_at_a_file_passes() -> None:
    """Asking again means that the preview was not enough."""
    file = {"file_path": "/a.go"}

    assert reason_to_pass("Read", file, LONG, seen={"/b.go"}) is None
    assert reason_to_pass("Read", file, LONG, seen={"/a.go"}) == deciding.SECOND_LOOK


@pytest.mark.row("S3-20")
@pytest.mark.parametrize(
    "name",
    [
        *("CLAUDE.md", "README.md", "README", "AGENTS.md", "readme.rst", "package.json", "a.yaml"),
        *("a.yml", "pyproject.toml", "tsconfig.json", "setup.cfg", "Cargo.lock", "poetry.lock"),
        *("pnpm-lock.yaml", "go.sum", ".env", ".env.local", "prod.env"),
    ],
)
def test_configuration_and_instructions_pass_up_to_a_hundred_kilobytes(name: str) -> None:
    """They are read to be obeyed; a lock file of 20 MB is not."""
    path = f"/project/{name}"

    assert reason("Read", "x" * 99_000, file_path=path) == deciding.CONFIGURATION
    assert reason("Read", "x" * 100_001, file_path=path) is None


@pytest.mark.parametrize("name", ["main.go", "environment.py", "json.py", "reader.md", "lock.c"])
def test_other_files_do_not_pass_for_configuration(name: str) -> None:
    """A word in the name is not enough."""
    assert not deciding.is_configuration(f"/project/{name}")


@pytest.mark.parametrize("name", ["shot.png", "photo.JPG", "paper.pdf", "anim.gif"])
def test_images_and_documents_pass(name: str) -> None:
    """What is not text is not previewed as text."""
    assert reason("Read", file_path=f"/a/{name}") == deciding.NO_TEXT


@pytest.mark.parametrize(
    "command",
    [
        "brimline store get sha256:abc --lines 1:900",
        "/home/me/.local/bin/brimline store grep abc x",
        "cd /x && brimline store get 3f2a9c01 | head -500",
        "python -m brimline store get 3f2a9c01",
    ],
)
def test_our_own_recall_passes(command: str) -> None:
    """What was fetched back on purpose is not taken away again."""
    assert reason("Bash", command=command) == deciding.OURS


def test_our_own_tools_and_stubs_pass() -> None:
    """Neither the server's answers nor a stub are offloaded."""
    assert reason("mcp__brimline__recall") == deciding.OURS
    assert reason("mcp__plugin_brim_brimline__recall") == deciding.OURS
    assert reason("Bash", "[brimline stored 5 bytes: sha256:0]" + LONG) == deciding.OURS
    assert reason("Bash", command="grep -r brimline src") is None
    assert reason("Bash", command="brimline store list --limit 9000") is None


@pytest.mark.row("S3-21")
@pytest.mark.parametrize(
    "command",
    [
        *("pwd", "whoami", "which x", "type x", "command -v x", "echo hi", "true", "false", "exit"),
        *("cd /", "pushd x", "popd", "export", "set", "unset X", "alias", "git status"),
        *("git branch", "git remote -v", "git config --list"),
    ],
)
def test_trivial_commands_pass_unless_they_are_part_of_more(command: str) -> None:
    """A chain of commands is never trivial."""
    assert reason("Bash", command=command) == deciding.TRIVIAL
    assert reason("Bash", command=f"{command} && make") is None


@pytest.mark.row("S3-24")
@pytest.mark.parametrize("command", ["ssh host", "vim x", "less log", "python", "bash -i", "psql"])
def test_interactive_commands_pass(command: str) -> None:
    """Somebody is at the keyboard."""
    assert reason("Bash", command=command) == deciding.INTERACTIVE


@pytest.mark.parametrize("command", ["python x.py", "sed -i s/a/b/ f", "bash run.sh", "git log"])
def test_commands_that_merely_look_interactive_are_replaced(command: str) -> None:
    """An option or an interpreter does not make a dialogue."""
    assert reason("Bash", command=command) is None


def test_a_stub_has_to_save_a_thousand_tokens_and_half_of_the_text() -> None:
    """Otherwise replacing makes matters worse."""
    assert is_worth_it("x" * 10_000, "x" * 5_000, DEFAULT, 2.85)
    assert not is_worth_it("x" * 10_000, "x" * 5_001, DEFAULT, 2.85)
    assert not is_worth_it("x" * 3_500, "x" * 700, DEFAULT, 2.85)
    assert is_worth_it("x" * 3_500, "x" * 700, DEFAULT, 2.2)


@pytest.mark.row("S3-04")
@pytest.mark.parametrize("tool", ["Bash", "Read", "Grep", "mcp__x__y"])
def test_a_large_output_becomes_a_small_reference(tool: str) -> None:
    """200 kB shrink to a few kilobytes that name their key."""
    text = "".join(
        f"src/part{i % 90}.py:{i}: value{i} = compute(value{i - 1})\n" for i in range(4_000)
    )
    asked = {"file_path": "/a.py", "command": "make"}
    key = "sha256:" + "0" * 64

    stub = reference(
        {"key": key, "bytes": len(text), "tool": tool}, make_preview(text, tool, "make")
    )

    assert reason_to_pass(tool, asked, text) is None
    assert is_worth_it(text, stub, DEFAULT, 2.85)
    assert len(stub) < 6_000
    assert key in stub


@given(
    st.text(max_size=20),
    st.dictionaries(
        st.sampled_from(["file_path", "command", "offset"]),
        st.none() | st.integers() | st.text(max_size=30) | st.lists(st.integers(), max_size=2),
    ),
)
def test_any_input_gets_a_verdict(tool: str, asked: dict[str, Any]) -> None:
    """Foreign payloads do not raise; what passes says why."""
    for name in (tool, "Bash", "Read"):
        assert reason_to_pass(name, asked, LONG) in (None, *REASONS)
