"""`brimline status --composition`: stable keys for programs, a page for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from brimline.testing import SessionBuilder, text_block

if TYPE_CHECKING:
    from .conftest import Outcome, Run

KEYS = (
    "session_id transcript occupancy_tokens parts floor_by_source tool_results_by_tool "
    "tool_results_by_file repeated_reads hooks client_injections turns"
)


@pytest.fixture
def run(session: SessionBuilder, brimline: Run) -> Run:
    """The command, as a person types it."""

    def composition(*arguments: str) -> Outcome:
        return brimline("status", "--composition", "--transcript", session.path, *arguments)

    return composition


def a_working_day(session: SessionBuilder) -> None:
    """The session that the page shows: reads, an edit, a test run, a note of ours."""
    session.model = "claude-opus-4-7"
    listing = {"type": "skill_listing", "content": "s"}
    session.row("attachment", attachment=listing, rendered=[{"content": "s" * 9_000}])
    session.prompt("Make the importer skip empty rows, and add a test for it.")
    tokens = 31_000
    calls: list[tuple[str, int, dict[str, Any]]] = [
        ("Read", 31_000, {"file_path": "src/importer.py"}),
        ("Read", 9_000, {"file_path": "tests/test_importer.py"}),
        ("Edit", 300, {"file_path": "src/importer.py", "new_string": "n" * 1_900}),
        ("Read", 31_500, {"file_path": "src/importer.py"}),
        ("Bash", 14_000, {"command": "make test"}),
    ]
    for name, characters, asked in calls:
        call = session.tool_call(tokens, name, **asked)
        session.tool_result(call, "r" * characters)
        tokens += 250 + int((characters + sum(map(len, asked.values()))) / 2.3)
    note = "[brimline] Context tier L1 Warning. There is room to work."
    attachment = {"type": "hook_additional_context", "hookName": "PostToolUse:Bash"}
    session.row("attachment", attachment=attachment | {"content": [note]}, rendered=[note])
    session.reply(tokens, text_block("Empty rows are skipped now; a test covers it. " * 6))
    session.prompt("Good. Now the same for the exporter.")
    call = session.tool_call(tokens + 900, "Read", file_path="src/exporter.py")
    session.tool_result(call, "r" * 22_000)
    session.reply(tokens + 11_400)


@pytest.mark.row("S2-02", "S2-48")
def test_the_json_has_its_documented_keys_and_adds_up(session: SessionBuilder, run: Run) -> None:
    """Parts, hooks and turns are there under stable names, and the parts sum to the occupancy."""
    a_working_day(session)

    report = run("--json").document

    assert " ".join(report) == KEYS
    assert report["session_id"] == session.session_id
    assert sum(part["tokens"] for part in report["parts"]) == report["occupancy_tokens"]
    assert sum(part["share"] for part in report["parts"]) == pytest.approx(1, abs=0.001)
    assert all(set(part) == {"kind", "name", "tokens", "share"} for part in report["parts"])
    assert report["parts"][-1]["kind"] == "unexplained"
    (hook,) = report["hooks"]
    assert (hook["name"], hook["ours"]) == ("PostToolUse:Bash", True)
    assert hook["tokens"] == next(p["tokens"] for p in report["parts"] if p["kind"] == "hook")
    assert sum(turn["tokens_added"] for turn in report["turns"]) == report["occupancy_tokens"]
    importer = "src/importer.py"
    assert report["tool_results_by_file"][0]["file"] == importer
    (again,) = report["repeated_reads"]
    assert (again["file"], again["reads"]) == (importer, 2)
    assert 10_000 < again["tokens_repeated"] < report["tool_results_by_file"][0]["tokens"]
    tools = {tool["tool"]: tool["results"] for tool in report["tool_results_by_tool"]}
    assert tools == {"Read": 4, "Bash": 1, "Edit": 1}


def test_long_prompts_and_many_files_are_cut(session: SessionBuilder, run: Run) -> None:
    """A prompt shows its first 80 characters, the list of files its 20 largest."""
    session.prompt("p" * 500)
    for number in range(30):
        call = session.tool_call(40_000 + number * 400, "Read", file_path=f"/f{number}.py")
        session.tool_result(call, "r" * 900)
    session.reply(60_000)

    report = run("--json").document

    assert report["turns"][0]["prompt"] == "p" * 80
    assert len(report["tool_results_by_file"]) == 20


@pytest.mark.parametrize("compacted", [False, True])
def test_an_unknown_occupancy_is_null_and_one_sentence(
    session: SessionBuilder, compacted: bool, run: Run
) -> None:
    """Before the first request, and after a compaction, there is nothing to divide."""
    session.prompt("go")
    if compacted:
        session.reply(160_000)
        session.compact(167_000)

    report = run("--json").document
    page = run()

    assert (report["occupancy_tokens"], report["parts"]) == (None, [])
    assert report["tool_results_by_tool"] == report["floor_by_source"] == []
    assert "unknown: no model request since the session began or compacted" in page.out


def test_a_drop_is_explained_in_a_sentence(session: SessionBuilder, run: Run) -> None:
    """A negative rest says what it means."""
    session.prompt("go")
    session.reply(40_000)
    session.reply(30_000)

    page = run().out

    assert "were dropped; no record says which" in page
    assert "Largest turns" not in page
