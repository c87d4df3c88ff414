"""What a transcript's rows leave in the ledger: what was said."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimline.carry import items
from brimline.carry.fold import fold

from .talk import Talk


@pytest.fixture
def talk(tmp_path: Path) -> Talk:
    """An empty session."""
    return Talk(tmp_path)


def test_the_first_prompt_is_the_goal_and_the_last_one_the_request(talk: Talk) -> None:
    """Every prompt is kept; of the requests in between none is shown as a goal."""
    talk.user("Build a report page for the warehouse team.")
    talk.user("Now check the width of the columns there.")
    talk.user("Look at the footer of that page please.")

    assert len(talk.texts(items.PROMPT)) == 3
    assert talk.texts(items.GOAL) == [
        "Build a report page for the warehouse team.",
        "Look at the footer of that page please.",
    ]


def test_a_rule_keeps_the_prompt_it_came_from(talk: Talk) -> None:
    """Verbatim, in the middle of other things."""
    talk.user("Fix the login form first. Never touch auth/keys.py while doing it. Then tell me.")

    (rule,) = talk.ledger.of(items.CONSTRAINT)

    assert rule.text == "Never touch auth/keys.py while doing it."
    assert rule.extra["prompt"].startswith("Fix the login form first.")
    assert (rule.at, rule.row) == (talk.rows[0]["timestamp"], talk.rows[0]["uuid"])


def test_a_permission_lifts_the_rule_it_is_about(talk: Talk) -> None:
    """By its content words; another rule stands."""
    talk.user("Don't push anything until I say so.\nNever edit the lockfile.")
    talk.user("ok you may push now")

    assert talk.texts(items.CONSTRAINT) == ["Never edit the lockfile."]
    assert talk.texts(items.CONSTRAINT, status=items.SUPERSEDED) == [
        "Don't push anything until I say so."
    ]


@pytest.mark.parametrize(
    ("ending", "status"),
    [
        ("scrap the CSV export", items.CANCELLED),
        ("the CSV export is no longer needed", items.CANCELLED),
        ("CSV export is done", items.DONE),
        ("brim:done CSV export", items.DONE),
    ],
)
def test_the_user_ends_a_task_by_naming_it(talk: Talk, ending: str, status: str) -> None:
    """It stays in the ledger, marked, and another task stays open."""
    talk.user("Let's tidy the report page a bit.")
    talk.user("also add a CSV export to the report page")
    talk.user("TODO: translate the report page")
    talk.user(ending)

    assert talk.texts(items.TASK) == ["TODO: translate the report page"]
    assert talk.texts(items.TASK, status=status) == ["also add a CSV export to the report page"]


def test_the_assistant_ends_a_task_by_telling_of_it(talk: Talk) -> None:
    """What it only did in part stays open."""
    talk.user("Let's tidy the report page a bit.")
    talk.user("also add a CSV export to the report page")
    talk.assistant("The CSV export is not finished yet.")
    assert talk.texts(items.TASK) == ["also add a CSV export to the report page"]

    talk.assistant("I've finished the CSV export.")
    assert talk.texts(items.TASK) == []


def test_versions_of_a_task_are_not_mixed_up(talk: Talk) -> None:
    """The end of one is not the end of the other."""
    talk.user("Let's write the guides for the releases.")
    talk.user("later we need to write the migration guide for 2.4")
    talk.assistant("The migration guide for 2.3 is done.")

    assert talk.texts(items.TASK) == ["later we need to write the migration guide for 2.4"]


def test_directives_are_taken_word_for_word(talk: Talk) -> None:
    """`brim:decide` and `brim:note` weigh more than anything that was guessed."""
    talk.user("brim:decide one queue per tenant\nbrim:note the demo is on Friday\nGo on with it.")

    (decision,) = talk.ledger.of(items.DECISION)
    assert decision.text == "one queue per tenant"
    assert talk.texts(items.NOTE) == ["the demo is on Friday"]
    assert decision.weight > 2
    assert talk.texts(items.PROMPT) == ["Go on with it."]


def test_a_pasted_error_is_a_fact_though_it_is_no_sentence(talk: Talk) -> None:
    """The line that names the error, from a block or a log."""
    talk.user("I get this since yesterday:\n```\nstarting\nECONNREFUSED 10.0.0.7:5433\n```")

    assert "ECONNREFUSED 10.0.0.7:5433" in talk.texts(items.FACT)


def test_a_short_paste_is_kept_whole_and_a_long_one_is_not(talk: Talk) -> None:
    """A few settings are worth a line, a file is not."""
    talk.user("This is how staging is set up:\n```\nPORT=8443\nREGION=eu-central-1\n```")
    talk.user("And this is the file:\n```\n" + "x_1 = compute(4711)\n" * 50 + "```")

    assert [text for text in talk.texts(items.FACT) if "=" in text] == [
        "PORT=8443 / REGION=eu-central-1"
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"isMeta": True},
        {"isSidechain": True},
        {"isCompactSummary": True},
        {"isVisibleInTranscriptOnly": True},
    ],
)
def test_what_the_user_did_not_say_is_not_taken_for_theirs(
    talk: Talk, fields: dict[str, bool]
) -> None:
    """Client texts, subagents' threads and summaries."""
    talk.user("Never push to main, ever.", **fields)

    assert talk.texts(items.CONSTRAINT, items.PROMPT) == []


@pytest.mark.parametrize(
    "text",
    [
        "<local-command-stdout>Never do this</local-command-stdout>",
        "<system-reminder>You must never do this</system-reminder>",
        "<command-name>/model</command-name><command-args>never that one</command-args>",
        "[Request interrupted by user]",
        "[brimline card] Never forget this",
        "<bash-stdout>never</bash-stdout>",
    ],
)
def test_texts_of_the_client_and_our_own_are_no_prompts(talk: Talk, text: str) -> None:
    """They stand in user rows, but no user wrote them."""
    talk.user(text)

    assert talk.ledger.items == {}


def test_words_beside_a_reminder_and_behind_a_command_are_the_users(talk: Talk) -> None:
    """A reminder is cut out; what follows a user's own command counts."""
    talk.user("Never push here.\n<system-reminder>never mind</system-reminder>")
    talk.user(
        "<command-message>goal</command-message><command-name>/goal</command-name>"
        "<command-args>Always keep the tests green.</command-args>"
    )

    assert talk.texts(items.CONSTRAINT) == ["Never push here.", "Always keep the tests green."]


def test_what_was_typed_while_the_assistant_worked_counts(talk: Talk) -> None:
    """The client attaches it instead of writing a user row."""
    attachment = {
        "type": "queued_command",
        "prompt": "never touch src/old",
        "commandMode": "prompt",
    }
    talk.take(talk.session.row("attachment", attachment=attachment))

    assert talk.texts(items.CONSTRAINT) == ["never touch src/old"]


def test_the_words_of_a_refusal_are_the_users(talk: Talk) -> None:
    """A tool call that was turned down is no error, but its reason is a statement."""
    talk.tool(
        "Bash",
        "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it"
        " was a file edit, the new_string was NOT written to the file). To tell you how to proceed,"
        " the user said:\nnever commit without asking me",
        is_error=True,
        command="git commit",
    )

    assert talk.texts(items.CONSTRAINT) == ["never commit without asking me"]
    assert talk.texts(items.ERROR) == []


def test_a_new_list_of_what_is_left_replaces_the_last_one(talk: Talk) -> None:
    """The assistant's own lists grow stale."""
    talk.assistant("Remaining:\n- port the importer\n- write the docs")
    talk.assistant("Remaining:\n- write the docs")

    assert talk.texts(items.TASK) == ["Remaining: write the docs"]
    assert talk.texts(items.TASK, status=items.SUPERSEDED) == ["Remaining: port the importer"]


def test_what_a_user_repeats_gains_weight_and_what_the_assistant_repeats_loses_it(
    talk: Talk,
) -> None:
    """Emphasis on one side, a figure of speech on the other."""
    talk.user("Let's look at the servers of the lab.")
    for _ in range(3):
        talk.user("The port of staging is 8443.")
        talk.assistant("The cache holds 500 entries.")

    users, models = talk.ledger.of(items.FACT)
    assert users.weight > 3.0
    assert models.weight < 1.5


def test_a_progress_report_is_no_fact_however_many_figures_it_has(talk: Talk) -> None:
    """The same words with other figures, over and over."""
    from brimline.carry.bounds import bound

    for number in range(30):
        talk.assistant(f"Step {number} is through, {number * 7} lines looked at.")
    talk.assistant("The limit of the importer is 250 rows.")
    bound(talk.ledger)

    found = sorted(talk.ledger.of(items.FACT), key=lambda item: -item.weight)
    assert found[0].text == "The limit of the importer is 250 rows."
    assert len(found) <= 4


def test_a_compaction_is_counted_and_the_ledger_goes_on(talk: Talk) -> None:
    """The summary is nobody's words; what was known before stays."""
    talk.user("Never push to main.")
    before = len(talk.rows)
    talk.session.compact(150_000, summary="The user said: always push to main.")
    talk.session.compact(150_000, summary="Never mind.", legacy=True)
    lines = Path(talk.session.path).read_text(encoding="utf-8").splitlines()
    talk.take(*[json.loads(line) for line in lines[before:]])
    talk.user("Never tag a release.")

    assert talk.ledger.compactions == 2
    assert talk.texts(items.CONSTRAINT) == ["Never push to main.", "Never tag a release."]


def test_a_plan_that_is_handed_over_is_a_plan_not_a_hundred_rules(talk: Talk) -> None:
    """Only its title and the goal are kept of it."""
    plan = "# Plan: move the queue\n\nThe worker must never block.\nAlways ack late."
    talk.user(f"Implement the following plan:\n\n{plan}", planContent=plan)

    assert talk.texts(items.PLAN) == ["Plan: move the queue"]
    assert talk.texts(items.CONSTRAINT) == []


def test_the_clients_own_goal_is_one(talk: Talk) -> None:
    """Until the client says that it is met."""
    goal = {"type": "goal_status", "met": False, "condition": "all tests are green"}
    talk.take(talk.session.row("attachment", attachment=goal))
    assert talk.texts(items.GOAL) == ["all tests are green"]

    talk.take(talk.session.row("attachment", attachment=goal | {"met": True}))
    assert talk.texts(items.GOAL) == []


def lively(talk: Talk) -> None:
    """A session in which all sorts of things happen."""
    talk.user("Move the queue to Postgres. Never touch vendor/. Use port 5433.")
    talk.assistant("I'll use advisory locks instead of a table because they are cheap.")
    talk.tool("TaskCreate", "Task #1 created successfully: x", {"task": {"id": "1"}}, subject="x y")
    talk.tool("Bash", "Exit code 1\nboom: no space", "Error: boom", is_error=True, command="make a")
    talk.tool("Read", "1\tx", {"type": "text"}, file_path="/p/a.py")
    talk.tool("Edit", "done", {"filePath": "/p/a.py"}, file_path="/p/a.py")
    talk.user("also add a metrics page\n\ntodo: tell Petra about it")
    talk.tool("Bash", "fine", {"stdout": "fine"}, command="make a")
    talk.tool("TaskUpdate", "ok", {"success": True}, taskId="1", status="completed")
    talk.assistant("The metrics page is done.")
    talk.user("you may touch vendor/ now")


def test_the_same_rows_again_change_nothing(talk: Talk) -> None:
    """A session that is resumed may repeat its rows."""
    lively(talk)
    before = copy.deepcopy(items.to_document(talk.ledger))

    for row in talk.rows:
        fold(talk.ledger, row)

    assert items.to_document(talk.ledger) == before


def test_rows_are_known_again_long_after(talk: Talk) -> None:
    """More rows than are remembered by name came in between."""
    lively(talk)
    rows = list(talk.rows)
    for number in range(2_000):
        talk.take(talk.session.row("user", message={"role": "user", "content": "go on"}, n=number))
    before = copy.deepcopy(items.to_document(talk.ledger))

    for row in rows:
        fold(talk.ledger, row)

    assert items.to_document(talk.ledger) == before


def test_a_clock_that_was_set_back_hides_nothing(talk: Talk) -> None:
    """New rows with old times go on from rows that are known."""
    for number in range(2_000):
        talk.take(talk.session.row("user", message={"role": "user", "content": "go on"}, n=number))
    talk.session.now -= 86_400
    talk.user("Never push to main.")

    assert talk.texts(items.CONSTRAINT) == ["Never push to main."]


def test_a_result_before_its_call_counts_once_the_call_is_there(talk: Talk) -> None:
    """Such files occur; the ledger is the same as in the usual order."""
    call = talk.session.tool_call(20_000, "Bash", command="make x")
    row = json.loads(Path(talk.session.path).read_text(encoding="utf-8").splitlines()[-1])
    talk.result(call, "Exit code 2\nmissing separator", "Error", is_error=True)
    assert talk.texts(items.ERROR) == []

    talk.take(row)
    assert talk.texts(items.ERROR) == ["missing separator"]


def test_saving_and_loading_in_between_changes_nothing(talk: Talk, tmp_path: Path) -> None:
    """Folding in pieces is the same as folding at once."""
    lively(talk)
    pieces = items.Ledger(talk.ledger.session)
    for row in talk.rows:
        fold(pieces, row)
        pieces = items.from_document(json.loads(json.dumps(items.to_document(pieces))), "s")
    pieces.session = talk.ledger.session

    assert items.to_document(pieces) == items.to_document(talk.ledger)


def junk() -> st.SearchStrategy[object]:
    """Any JSON value, with the keys that rows have."""
    leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
    names = st.sampled_from(
        [
            "type",
            "message",
            "content",
            "role",
            "text",
            "tool_use",
            "tool_result",
            "user",
            "assistant",
            "attachment",
            "system",
            "uuid",
            "parentUuid",
            "timestamp",
            "input",
            "name",
            "id",
            "tool_use_id",
            "is_error",
            "toolUseResult",
            "task",
            "tasks",
            "answers",
            "todos",
            "prompt",
            "commandMode",
            "isSidechain",
            "subtype",
            "status",
            "subject",
            "planFilePath",
        ]
    )
    return st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(names | st.text(max_size=5), inner | names, max_size=6)
        ),
        max_leaves=20,
    )


@given(st.lists(junk(), max_size=4))
def test_any_row_can_be_folded(rows: list[object]) -> None:
    """Foreign data never raises."""
    ledger = items.Ledger("s")
    for row in rows:
        fold(ledger, row)


@given(
    st.sampled_from(["user", "assistant", "attachment", "system"]),
    st.sampled_from(
        [
            "Bash",
            "Read",
            "Edit",
            "Agent",
            "TaskCreate",
            "TaskUpdate",
            "TaskList",
            "TodoWrite",
            "ExitPlanMode",
            "TaskOutput",
            "AskUserQuestion",
            "TaskStop",
        ]
    ),
    junk(),
    junk(),
    st.booleans(),
)
def test_any_call_and_result_can_be_folded(
    kind: str, name: str, arguments: object, told: object, is_error: bool
) -> None:
    """Whatever a tool was given, and whatever it answered."""
    ledger = items.Ledger("s")
    call = {"type": "tool_use", "id": "t", "name": name, "input": arguments}
    fold(ledger, {"type": "assistant", "uuid": "a", "message": {"content": [call]}})
    result = {"type": "tool_result", "tool_use_id": "t", "content": told, "is_error": is_error}
    message = {"content": [result]}
    fold(ledger, {"type": "user", "uuid": "b", "message": message, "toolUseResult": told})
    fold(ledger, {"type": kind, "uuid": "c", "attachment": told, "message": told})
    json.dumps(items.to_document(ledger))
