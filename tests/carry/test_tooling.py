"""What tools leave in the ledger: tasks, plans, files, errors, answers, subagents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from brimline.carry import items

from .talk import Talk

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def talk(tmp_path: Path) -> Talk:
    """An empty session."""
    return Talk(tmp_path)


def create(talk: Talk, number: str, subject: str, description: str = "d") -> None:
    """The client's own task list gains a task."""
    talk.tool(
        "TaskCreate",
        f"Task #{number} created successfully: {subject}",
        {"task": {"id": number, "subject": subject}},
        subject=subject,
        description=description,
    )


def update(talk: Talk, number: str, status: str) -> None:
    """A task of the client changes."""
    told = {"success": True, "taskId": number, "updatedFields": ["status"]}
    talk.tool("TaskUpdate", f"Updated task #{number}", told, taskId=number, status=status)


@pytest.mark.row("S4-25")
def test_tasks_follow_their_numbers(talk: Talk) -> None:
    """Started, completed, deleted: each is marked, none is dropped."""
    for number, subject in (("1", "Port the importer"), ("2", "Write docs"), ("3", "Old idea")):
        create(talk, number, subject)
    update(talk, "1", "in_progress")
    update(talk, "2", "completed")
    update(talk, "3", "deleted")

    (started,) = talk.ledger.of(items.TASK, status=items.OPEN)
    assert (started.text, started.extra["state"]) == ("Port the importer", "in_progress")
    assert talk.texts(items.TASK, status=items.DONE) == ["Write docs"]
    assert talk.texts(items.TASK, status=items.CANCELLED) == ["Old idea"]


def test_a_tasks_number_comes_from_the_text_where_the_copy_is_missing(talk: Talk) -> None:
    """Older clients and shortened rows."""
    call = talk.call("TaskCreate", subject="Port it", description="")
    talk.result(call, "Task #7 created successfully: Port it")
    update(talk, "7", "completed")

    assert talk.texts(items.TASK, status=items.DONE) == ["Port it"]


def test_a_description_with_exact_values_goes_along(talk: Talk) -> None:
    """The subject alone often leaves out what matters."""
    create(talk, "1", "Raise the limit", "Set MAX_ROWS to 5000 in /etc/app/limits.conf")
    create(talk, "2", "Tidy up", "As discussed in the last meeting we had about it")

    assert talk.texts(items.TASK) == [
        "Raise the limit (Set MAX_ROWS to 5000 in /etc/app/limits.conf)",
        "Tidy up",
    ]


def test_a_completed_task_ends_what_the_user_asked_for(talk: Talk) -> None:
    """The same work in the user's words is not open any more either."""
    talk.user("Let's improve the report page.")
    talk.user("also add a CSV export to the report page")
    create(talk, "1", "Add CSV export to report page")
    update(talk, "1", "completed")

    assert talk.texts(items.TASK) == []


def test_the_whole_list_is_taken_over(talk: Talk) -> None:
    """From the tool and from the client's reminder."""
    listed = [{"id": "1", "subject": "Port it", "status": "completed", "blockedBy": []}]
    talk.tool("TaskList", "#1 [completed] Port it", {"tasks": listed})
    reminder = {
        "type": "task_reminder",
        "content": [{"id": "2", "subject": "Test it", "status": "pending"}],
        "itemCount": 1,
    }
    talk.take(talk.session.row("attachment", attachment=reminder))

    assert talk.texts(items.TASK, status=items.DONE) == ["Port it"]
    assert talk.texts(items.TASK) == ["Test it"]


def todo(content: str, status: str) -> dict[str, str]:
    """An entry of the old list of todos."""
    return {"content": content, "status": status, "activeForm": f"doing {content}"}


def test_todos_follow_each_new_list(talk: Talk) -> None:
    """What is no longer on the list was given up, unless it was done."""
    talk.tool("TodoWrite", todos=[todo("one", "in_progress"), todo("two", "pending")])
    talk.tool("TodoWrite", todos=[todo("one", "completed"), todo("two", "pending")])
    talk.tool("TodoWrite", todos=[todo("three", "pending")])

    assert talk.texts(items.TASK) == ["three"]
    assert talk.texts(items.TASK, status=items.DONE) == ["one"]
    assert talk.texts(items.TASK, status=items.CANCELLED) == ["two"]


@pytest.mark.row("S4-25")
def test_a_plan_is_known_by_its_file(talk: Talk) -> None:
    """As the client approves it, attaches it or writes it."""
    path = "/home/dev/.claude/plans/shiny-sloth.md"
    told = {"plan": "# Move the queue\n\nSteps", "isAgent": False, "filePath": path}
    talk.tool("ExitPlanMode", "User has approved your plan.", told)
    assert talk.texts(items.PLAN) == [f"{path}: Move the queue"]

    mode = {"type": "plan_mode", "planFilePath": path, "planExists": True}
    talk.take(talk.session.row("attachment", attachment=mode))
    talk.tool("Edit", "ok", {"filePath": path}, file_path=path)
    assert talk.texts(items.PLAN) == [f"{path}: Move the queue"]

    other = {"type": "plan_file_reference", "planFilePath": "/p/b.md", "planContent": "# B"}
    talk.take(talk.session.row("attachment", attachment=other))
    assert talk.texts(items.PLAN) == [f"{path}: Move the queue", "/p/b.md: B"]


def test_a_plan_of_an_old_client_is_found_in_the_text(talk: Talk) -> None:
    """The path stands in the result, the plan in the call."""
    talk.tool(
        "ExitPlanMode",
        "User has approved your plan.\n\nYour plan has been saved to: /c/plans/a.md\nYou can",
        plan="# Do it\nnow",
    )

    assert talk.texts(items.PLAN) == ["/c/plans/a.md: Do it"]


def test_a_plan_that_was_turned_down_is_none(talk: Talk) -> None:
    """The user refused it."""
    talk.tool(
        "ExitPlanMode",
        "The user doesn't want to proceed with this tool use. The tool use was rejected",
        is_error=True,
        plan="# No",
    )

    assert talk.texts(items.PLAN, items.ERROR) == []


def test_files_are_counted_with_what_was_done_last(talk: Talk) -> None:
    """An edit is remembered though the file was read again; the latest stands last."""
    talk.tool("Read", "1\tx", file_path="/p/a.py")
    talk.tool("Edit", "ok", file_path="/p/a.py")
    talk.tool("Write", "ok", file_path="/p/b ü.py")
    talk.tool("NotebookEdit", "ok", notebook_path="/p/n.ipynb")
    talk.tool("Read", "1\tx", file_path="/p/a.py")

    found = {item.text: item.extra for item in talk.ledger.of(items.FILE)}
    assert list(found) == ["/p/b ü.py", "/p/n.ipynb", "/p/a.py"]
    assert found["/p/a.py"]["did"] == "edited"
    assert found["/p/a.py"]["times"] == {"read": 2, "edited": 1}


def fail(talk: Talk, command: str, output: str) -> None:
    """A command fails."""
    text = f"Exit code 1\n{output}"
    talk.tool("Bash", text, f"Error: {text}", is_error=True, command=command, description="x")


def test_an_error_stays_open_until_the_command_passes(talk: Talk) -> None:
    """The same command, or one that covers more."""
    fail(talk, "cd app && go test ./pkg/a -run TestX 2>&1 | tail -5", "--- FAIL: TestX: want 3")
    fail(talk, "make lint", "E501 line too long")
    talk.tool("Bash", "ok", {"stdout": "ok"}, command="go test ./pkg/b")
    assert len(talk.texts(items.ERROR)) == 2

    talk.tool("Bash", "ok", {"stdout": "ok"}, command="go test ./pkg/a")
    (left,) = talk.ledger.of(items.ERROR, status=items.OPEN)
    assert (left.text, left.extra["command"]) == ("E501 line too long", "make lint")


def test_a_command_that_fails_otherwise_keeps_both_errors(talk: Talk) -> None:
    """The newer one first."""
    fail(talk, "make build", "undefined symbol: foo")
    fail(talk, "make build", "no space left on device")

    old, new = talk.ledger.of(items.ERROR)
    assert old.weight < new.weight


def test_of_a_long_error_the_telling_lines_are_kept(talk: Talk) -> None:
    """Among progress reports."""
    noise = "\n".join(f"compiling unit {n} of 400" for n in range(200))
    fail(talk, "make all", f"{noise}\nerror[E0432]: unresolved import `a::b`\n{noise}")

    (error,) = talk.texts(items.ERROR)
    assert "error[E0432]: unresolved import `a::b`" in error
    assert len(error) < 420


def test_a_failure_behind_a_pipe_is_seen(talk: Talk) -> None:
    """The exit code is the pipe's, the output is the tests'."""
    output = "......\nFAILED tests/test_a.py::test_b - KeyError: 'x'\n1 failed, 6 passed"
    talk.tool("Bash", output, {"stdout": output}, command="pytest -q | tail -5")
    assert talk.texts(items.ERROR) == ["FAILED tests/test_a.py::test_b - KeyError: 'x'"]

    talk.tool("Bash", "7 passed", {"stdout": "7 passed"}, command="pytest -q | tail -5")
    assert talk.texts(items.ERROR) == []


def test_other_tools_fail_too_and_what_mends_itself_is_left_out(talk: Talk) -> None:
    """An edit that has to be read first is not worth a line."""
    talk.tool(
        "Read",
        "<tool_use_error>File does not exist.</tool_use_error>",
        is_error=True,
        file_path="/p/x",
    )
    talk.tool(
        "Edit",
        "<tool_use_error>File has not been read yet. Read it first",
        is_error=True,
        file_path="/p/y",
    )

    (error,) = talk.ledger.of(items.ERROR)
    assert (error.text, error.extra["command"]) == ("File does not exist.", "/p/x")

    talk.tool("Read", "1\tx", file_path="/p/x")
    assert talk.texts(items.ERROR) == []


def test_answers_of_the_user_are_kept_with_their_questions(talk: Talk) -> None:
    """As the client records them, several choices included."""
    told = {
        "questions": [{"question": "Which one?", "options": []}],
        "answers": {"Which one?": "the\nblue one", "And then?": ["a", "b"]},
        "annotations": {},
    }
    talk.tool("AskUserQuestion", "User has answered", told, questions=[])

    assert talk.texts(items.ANSWER) == ["Which one? → the\nblue one", "And then? → a, b"]


def test_a_short_report_of_a_subagent_is_kept_whole(talk: Talk) -> None:
    """Without the frame that the client puts around it."""
    content = [
        {"type": "text", "text": "<tools-used-before-summary>Bash</tools-used-before-summary>\n"},
        {"type": "text", "text": "The leak is in pool.c:118."},
        {"type": "text", "text": "agentId: a654 (for resuming)\n<usage>total_tokens: 3</usage>"},
    ]
    talk.tool("Agent", content, {"status": "completed"}, description="Find the leak", prompt="p")

    assert talk.texts(items.AGENT) == ["Find the leak: The leak is in pool.c:118."]


def test_of_a_long_report_the_exact_sentences_are_kept(talk: Talk) -> None:
    """The one that says most stands for it, the others are facts."""
    padding = "The module is structured well and reads nicely. " * 20
    report = (
        f"I now have a complete picture.\n\n{padding}\n\nThe limit is 250 rows, see /etc/a.conf."
    )
    talk.tool(
        "Task", report, {"status": "completed"}, description="Survey", subagent_type="Explore"
    )

    assert talk.texts(items.AGENT) == ["Survey: The limit is 250 rows, see /etc/a.conf."]


def test_a_report_that_was_stored_is_referred_to_by_its_key(talk: Talk) -> None:
    """The stub stays out of the text."""
    key = "sha256:" + "ab" * 32
    stub = f"[brimline stored 90000 bytes, 900 lines: {key}] Preview, not the whole:"
    talk.tool("Agent", f"{stub}\nIt is pool.c:118.", {"status": "completed"}, description="Look")

    (report,) = talk.ledger.of(items.AGENT)
    assert report.extra["key"] == key
    assert report.text == "Look: It is pool.c:118."


def test_work_in_the_background_is_open_until_it_ends(talk: Talk) -> None:
    """Commands and agents, ended by a notification or stopped."""
    talk.tool("Bash", "running", {"stdout": "", "backgroundTaskId": "b1"}, command="make bench")
    talk.tool("Bash", "running", {"stdout": "", "backgroundTaskId": "b2"}, command="sleep 60")
    talk.tool(
        "Agent",
        "Async agent launched successfully.",
        {"isAsync": True, "status": "async_launched", "agentId": "a1"},
        description="Map the code",
    )
    assert len(talk.texts(items.BACKGROUND)) == 3

    prompt = (
        "<task-notification>\n<task-id>a1</task-id>\n<status>completed</status>\n"
        '<summary>Agent "Map the code" finished</summary>\n'
        "<result>Only pool.c:118 matters.</result>\n</task-notification>"
    )
    attachment = {
        "type": "queued_command",
        "prompt": prompt,
        "commandMode": "task-notification",
    }
    talk.take(talk.session.row("attachment", attachment=attachment))
    talk.tool("TaskStop", "stopped", {"task_id": "b2"}, task_id="b2")

    assert talk.texts(items.BACKGROUND) == ["make bench (task b1)"]
    assert talk.texts(items.AGENT) == ["Map the code: Only pool.c:118 matters."]
    assert talk.texts(items.PROMPT) == []


def test_the_output_of_an_agent_that_was_asked_for_is_its_report(talk: Talk) -> None:
    """The same as if it had been notified of."""
    task = {
        "task_id": "a1",
        "task_type": "local_agent",
        "status": "completed",
        "description": "Review",
        "output": "Line 40 leaks.",
    }
    talk.tool("TaskOutput", "x", {"retrieval_status": "success", "task": task}, task_id="a1")

    assert talk.texts(items.AGENT) == ["Review: Line 40 leaks."]
