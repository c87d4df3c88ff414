"""The words of the user in tool results, as rows, requests and mods of the client have them."""

from __future__ import annotations

import pytest

from brimline.transcript import calls, row, words

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
    assert calls.may_be_users_words(tool, text, is_error=is_error)


@pytest.mark.parametrize(
    ("tool", "text", "is_error"),
    [
        ("Bash", f"{REFUSED} the user said:\npush", False),
        ("Bash", PLAN, False),
        ("Read", "User has answered your questions: yes", False),
        ("Bash", "Exit code 1\n" + "x" * 2_000 + "the user said:\npush", True),
        ("Grep", "", True),
    ],
)
def test_what_a_program_prints_is_no_word_of_the_user(
    tool: str, text: str, *, is_error: bool
) -> None:
    """Only a call that failed, as a whole, can be taken for a refusal."""
    assert not calls.may_be_users_words(tool, text, is_error=is_error)


@pytest.mark.parametrize("mark", [{"holdsPersonsWords": True}, {"userFeedback": "no"}])
def test_a_mark_of_the_client_is_believed(mark: dict[str, object]) -> None:
    """Newer clients say of a result that a person's words are in it, whatever they are."""
    block = {"type": "tool_result", "tool_use_id": "t1", "content": "ask Anna first"}
    fields = {"type": "user", "message": {"content": [block | {"is_error": True}]}}

    [marked], [plain] = (
        list(row.main_thread_results(fields | mark)),
        list(row.main_thread_results(fields)),
    )

    assert calls.may_be_users_words("Bash", marked.text, is_error=True, is_marked=marked.is_marked)
    assert not calls.may_be_users_words(
        "Bash", plain.text, is_error=True, is_marked=plain.is_marked
    )


def result(text: str, record: object = None, *, is_error: bool = False) -> row.Result:
    """What a tool answered, with the client's copy."""
    fields = {row.COPY_FIELD: record}
    return row.Result(fields, {"tool_use_id": "t1", "content": text, "is_error": is_error})


BECAUSE = f"{REFUSED} To tell you how to proceed, the user said:\n"


@pytest.mark.parametrize(
    ("tool", "text", "copy", "said"),
    [
        ("Bash", f"{BECAUSE}never prod ", "User rejected tool use", "never prod"),
        ("Bash", f"{BECAUSE}no\n\nNote: The user's next message may", f"Error: {REFUSED}", "no"),
        ("Bash", REFUSED, "User rejected tool use", ""),
        ("Bash", f"{BECAUSE}The user wants to clarify these questions", f"Error: {REFUSED}", ""),
        ("Bash", f"{BECAUSE}no", {"stdout": "x"}, None),
        ("Bash", f"{BECAUSE}no", "Error: other", None),
        ("Bash", f"printed: {BECAUSE}no", "User rejected tool use", None),
        ("mcp__a__b", f"{BECAUSE}no", "User rejected tool use", None),
        ("ListMcpResources", f"{BECAUSE}no", "User rejected tool use", None),
    ],
)
def test_a_refusal_has_two_shapes(tool: str, text: str, copy: object, said: str | None) -> None:
    """With the user's words, or none; what a program prints is none."""
    assert words.refusal_words(tool, result(text, copy, is_error=True)) == said
    assert words.refusal_words(tool, result(text, copy)) is None


@pytest.mark.parametrize(
    ("text", "record", "said"),
    [
        ('User has answered your questions: "A"="b". You can now continue.', None, '"A"="b"'),
        ("Your questions have been answered: x. Read the answers.", None, "x"),
        ("The user answered: yes", None, "yes"),
        ("The user responded: a. b", None, "a. b"),
        ("another shape", {"answers": {"Q": "r", "P": "s"}}, '"Q"="r", "P"="s"'),
        ("another shape", {"answers": {"Q": "r"}, "response": "and this"}, '"Q"="r", and this'),
        ("another shape", {"response": "only this"}, "only this"),
        ("another shape", {"answers": ["r"]}, ""),
        ("another shape", None, ""),
    ],
)
def test_an_answer_is_what_the_user_chose_or_wrote(text: str, record: object, said: str) -> None:
    """As the client tells the model, else as it keeps it."""
    assert words.answer_words("AskUserQuestion", result(text, record)) == said
    assert words.answer_words("AskUserQuestion", result(text, record, is_error=True)) == ""
    assert words.answer_words("Bash", result(text, record)) == ""


@pytest.mark.parametrize(("past", "holds"), [(0, True), (1, False)])
def test_words_are_looked_for_at_the_beginning_of_a_failure(past: int, holds: bool) -> None:
    """Up to the colon behind them."""
    fill = calls._SAID_WITHIN_CHARACTERS - len("the user said:") + past
    text = "x" * fill + "the user said: no"

    assert calls.may_be_users_words("Bash", text, is_error=True) is holds


def test_what_the_client_put_around_the_users_words_goes() -> None:
    """From the first tag to the next that closes it, whatever is in between; others stay."""
    for text, own in (
        ("a<system-reminder>x<ide_b></system-reminder> b</ide_b>", "a b</ide_b>"),
        ("<ide_b>x<ide_b>y</ide_b>c", "c"),
        ("</ide_b>d<ide_c>", "</ide_b>d<ide_c>"),
    ):
        assert words.users_part_of_prompt(text) == own


@pytest.mark.timeout(30)
def test_tags_that_nobody_closes_are_read_at_once() -> None:
    """A command that the user ran may print any number of them."""
    assert words.users_part_of_prompt(f"<bash-stdout>{'<ide_a>' * 100_000}</bash-stdout>") == ""
