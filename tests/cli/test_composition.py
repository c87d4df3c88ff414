"""`brimline status --composition`: stable keys for programs, a page for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from brimline.gauge import composition, composition_text

if TYPE_CHECKING:
    from brimline.testing import SessionBuilder

    from .conftest import Outcome, Run

KEYS = (
    "session_id transcript occupancy_tokens parts floor_by_source tool_results_by_tool "
    "tool_results_by_file repeated_reads hooks client_injections turns"
)


@pytest.fixture
def run(session: SessionBuilder, brimline: Run) -> Run:
    """The command, as a person types it."""

    def composition(*arguments: str) -> Outcome:
        return brimline("status", "--composition", "--session", session.path, *arguments)

    return composition


@pytest.mark.row("S2-02", "S2-48")
def test_the_json_has_its_documented_keys_and_adds_up(session: SessionBuilder, run: Run) -> None:
    """Parts, hooks and turns are there under stable names, and the parts sum to the occupancy."""
    session.prompt("Make the importer skip empty rows.")
    for tokens in (31_000, 45_000):
        call = session.tool_call(tokens, "Read", file_path="src/importer.py")
        session.tool_result(call, "r" * 31_000)
    note = "[brimline] Context tier L1. There is room to work."
    attachment = {"type": "hook_additional_context", "hookName": "PostToolUse:Bash"}
    session.row("attachment", attachment=attachment | {"content": [note]}, rendered=[note])
    session.reply(60_000)

    report = run("--json").document

    assert " ".join(report) == KEYS
    assert sum(part["tokens"] for part in report["parts"]) == report["occupancy_tokens"] == 60_000
    assert sum(part["share"] for part in report["parts"]) == pytest.approx(1, abs=0.001)
    assert {" ".join(part) for part in report["parts"]} == {"kind name tokens share"}
    assert report["parts"][-1]["kind"] == "unexplained"
    (hook,) = report["hooks"]
    assert (hook["name"], hook["ours"]) == ("PostToolUse:Bash", True)
    assert hook["tokens"] == next(p["tokens"] for p in report["parts"] if p["kind"] == "hook")
    assert sum(turn["tokens_added"] for turn in report["turns"]) == 60_000
    (again,) = report["repeated_reads"]
    assert (again["file"], again["reads"]) == ("src/importer.py", 2)
    assert 10_000 < again["tokens_repeated"] < report["tool_results_by_file"][0]["tokens"]
    assert [tuple(tool.values())[::2] for tool in report["tool_results_by_tool"]] == [("Read", 2)]


def test_long_prompts_and_many_files_are_cut(session: SessionBuilder, run: Run) -> None:
    """A prompt shows its beginning, the list of files its largest."""
    session.prompt("p" * 500)
    for number in range(30):
        call = session.tool_call(40_000 + number * 400, "Read", file_path=f"/f{number}.py")
        session.tool_result(call, "r" * 900)
    session.reply(60_000)

    report = run("--json").document

    assert report["turns"][0]["prompt"] == "p" * composition._PROMPT_CHARACTERS
    assert len(report["tool_results_by_file"]) == composition_text.TOP_FILES


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
