"""The words of the user in tool results, as rows, requests and mods of the client have them."""

from __future__ import annotations

import pytest

from brimline.transcript import row, words

REFUSED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was "
    "a file edit, the new_string was NOT written to the file)."
)
IN_SUBAGENT = (
    "Permission for this tool use was denied. The tool use was rejected (eg. if it was a file edit,"
    " the new_string was NOT written to the file). The user said:\nask first"
)
PLAN = "User has approved your plan. You can now start coding.\n\n## Approved Plan:\n1. cut"


@pytest.mark.parametrize(
    ("tool", "text", "is_error"),
    [
        ("Bash", f"{REFUSED} To tell you how to proceed, the user said:\nnever prod", True),
        ("Bash", f"Error: {REFUSED}", True),
        ("mcp__db__query", f"{REFUSED} To tell you how to proceed, the user said:\nno", True),
        ("Edit", IN_SUBAGENT, True),
        (None, IN_SUBAGENT, True),
        ("AskUserQuestion", 'User has answered your questions: "Which?"="b". You can', False),
        ("AskUserQuestion", "in a shape that no client has written yet", False),
        ("ExitPlanMode", PLAN, False),
        ("ExitPlanMode", f"{REFUSED} To tell you how to proceed, the user said:\nshorter", True),
        (None, PLAN, False),
        (None, "Your questions have been answered: a. You can now continue", False),
    ],
)
def test_words_of_the_user_are_recognised_by_tool_and_text_alone(
    tool: str | None, text: str, *, is_error: bool
) -> None:
    """A request to the model has no more than that."""
    assert words.may_be_in(tool, text, is_error=is_error)


@pytest.mark.parametrize(
    ("tool", "text", "is_error"),
    [
        ("Bash", f"{REFUSED} the user said:\npush", False),
        ("Bash", PLAN, False),
        ("Read", "User has answered your questions: yes", False),
        ("Bash", "Exit code 1\n" + "x" * 700 + "the user said:\npush", True),
        ("Grep", "", True),
    ],
)
def test_what_a_program_prints_is_no_word_of_the_user(
    tool: str, text: str, *, is_error: bool
) -> None:
    """Only a call that failed, as a whole, can be taken for a refusal."""
    assert not words.may_be_in(tool, text, is_error=is_error)


@pytest.mark.parametrize("mark", [{"holdsPersonsWords": True}, {"userFeedback": "no"}])
def test_a_mark_of_the_client_is_believed(mark: dict[str, object]) -> None:
    """Newer clients say of a result that a person's words are in it, whatever they are."""
    block = {"type": "tool_result", "tool_use_id": "t1", "content": "ask Anna first"}
    fields = {"type": "user", "message": {"content": [block | {"is_error": True}]}}

    [marked], [plain] = list(row.results(fields | mark)), list(row.results(fields))

    assert words.may_be_in("Bash", marked.text, is_error=True, is_marked=marked.is_marked)
    assert not words.may_be_in("Bash", plain.text, is_error=True, is_marked=plain.is_marked)
