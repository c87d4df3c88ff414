"""Which outputs are kept out of the context, and which pass."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimline.offload import decide as deciding
from brimline.offload.decide import CCM, DEFAULT, Rules, decide, is_worth_it
from brimline.offload.preview import make_preview
from brimline.offload.reference import reference

INLINE_TOOLS = ["Bash", "Grep", "Glob", "WebFetch", "WebSearch", "Agent", "Task", "mcp__x__list"]
LONG = "some line of output\n" * 10_000


def reason(tool: str, text: str = LONG, **asked: Any) -> str | None:
    """Why an output passes; None where it is replaced."""
    return decide(tool, asked, text).reason


@pytest.mark.parametrize("tool", INLINE_TOOLS)
def test_output_over_eight_thousand_bytes_is_replaced(tool: str) -> None:
    """The threshold itself still passes."""
    assert reason(tool, "x" * 8_000) == "below the threshold"
    assert reason(tool, "x" * 8_001) is None


def test_bytes_count_and_not_characters() -> None:
    """Four thousand umlauts are eight thousand bytes."""
    assert not decide("Bash", {}, "ä" * 4_000).replace
    assert decide("Bash", {}, "ä" * 4_001).replace


def test_a_file_counts_as_large_as_the_model_would_see_it() -> None:
    """The client numbers every line, and in source code the numbers count."""
    assert reason("Read", "x" * 12_000, file_path="/a.go") is None
    assert reason("Read", "x" * 11_900, file_path="/a.go") == "below the threshold"
    assert reason("Read", "x" * 24_999, file_path="/a.txt") == "below the threshold"
    assert reason("Read", "x" * 25_000, file_path="/a.txt") is None
    assert reason("Read", ("x" * 20 + "\n") * 600, file_path="/a.go") is None


@pytest.mark.parametrize("character", ["x", "ä", "\ud800"])
def test_a_huge_text_is_large_without_its_bytes_being_counted(character: str) -> None:
    """Characters alone say that it is over every limit."""
    huge = character * 200_000

    assert decide("Bash", {}, huge).replace
    assert decide("Read", {"file_path": "/a/package-lock.json"}, huge).replace
    patient = Rules({"Bash": 900_000}, least_tokens=0, least_ratio=0)
    assert not decide("Bash", {}, huge, patient).replace


@pytest.mark.row("S3-26")
def test_the_preset_of_the_source_has_its_thresholds_without_a_guard() -> None:
    """2,000 bytes pass and 2,001 do not; of a file 24,999 pass and 25,000 do not."""
    verdicts = [
        decide(tool, {"file_path": "/a.go"}, "x\n" * (size // 2) + "x" * (size % 2), CCM).replace
        for tool, size in [("Bash", 2_000), ("Bash", 2_001), ("Read", 24_999), ("Read", 25_000)]
    ]

    assert verdicts == [False, True, False, True]
    assert is_worth_it("short", "a stub that is longer", CCM, 2.85)


@pytest.mark.parametrize("tool", ["Edit", "Write", "TodoWrite", "NotebookEdit", "", "Mystery"])
def test_an_unknown_tool_passes(tool: str) -> None:
    """Only outputs whose shape is known can be replaced."""
    assert reason(tool) == "an unknown tool"


@pytest.mark.row("S3-05", "S3-06")
def test_a_subagent_is_left_alone_and_the_main_agent_is_not() -> None:
    """The same output passes where a subagent asked for it."""
    assert decide("Bash", {}, LONG, agent_id="a1b2").reason == "a subagent's own work"
    assert decide("Bash", {}, LONG).replace


@pytest.mark.row("S3-18")
@pytest.mark.parametrize("asked", [{"offset": 1}, {"limit": 2_000}, {"offset": 0, "limit": 5}])
def test_a_page_of_a_file_passes(asked: dict[str, Any]) -> None:
    """Whoever asks for lines gets them."""
    assert reason("Read", file_path="/a.go", **asked) == "a page of a file"


def test_a_second_look_at_a_file_passes() -> None:
    """Asking again means that the preview was not enough."""
    assert decide("Read", {"file_path": "/a.go"}, LONG, seen={"/b.go"}).replace
    assert not decide("Read", {"file_path": "/a.go"}, LONG, seen={"/a.go"}).replace


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

    assert reason("Read", "x" * 99_000, file_path=path) == "a configuration or instruction file"
    assert reason("Read", "x" * 100_001, file_path=path) is None


@pytest.mark.parametrize("name", ["main.go", "environment.py", "json.py", "reader.md", "lock.c"])
def test_other_files_do_not_pass_for_configuration(name: str) -> None:
    """A word in the name is not enough."""
    assert not deciding.is_configuration(f"/project/{name}")


@pytest.mark.parametrize("name", ["shot.png", "photo.JPG", "paper.pdf", "anim.gif"])
def test_images_and_documents_pass(name: str) -> None:
    """What is not text is not previewed as text."""
    assert reason("Read", file_path=f"/a/{name}") == "an image or a PDF"


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
    assert reason("Bash", command=command) == "our own recall"


def test_our_own_tools_and_stubs_pass() -> None:
    """Neither the server's answers nor a stub are offloaded."""
    assert reason("mcp__brimline__recall") == "our own recall"
    assert reason("mcp__plugin_brim_brimline__recall") == "our own recall"
    assert reason("Bash", "[brimline stored 5 bytes: sha256:0]" + LONG) == "our own recall"
    assert reason("Bash", command="grep -r brimline src") is None


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
    assert reason("Bash", command=command) == "a trivial command"
    assert reason("Bash", command=f"{command} && make") is None


@pytest.mark.row("S3-24")
@pytest.mark.parametrize("command", ["ssh host", "vim x", "less log", "python", "bash -i", "psql"])
def test_interactive_commands_pass(command: str) -> None:
    """Somebody is at the keyboard."""
    assert reason("Bash", command=command) == "an interactive command"


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

    assert decide(tool, asked, text).replace
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
        verdict = decide(name, asked, LONG)

        assert verdict.replace == (verdict.reason is None)
