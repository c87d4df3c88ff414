"""What commands tell: only what their exit says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from brimline.carry import card, commands, ledger
from brimline.carry.commands import FAILED, PASSED, PIPED, UNKNOWN

from .rows import answered, numbers, ran, recorded

if TYPE_CHECKING:
    from brimline.testing import SessionBuilder


@pytest.mark.parametrize(
    ("command", "failed", "results"),
    [
        ("pytest -q", False, [PASSED]),
        ("pytest -q", True, [FAILED]),
        ("cd src && go test ./... 2>&1", True, [FAILED]),
        ("pytest -q | tail -5", False, [PIPED]),
        ("mise run fmt && mise run lint", True, [UNKNOWN]),
        ("npm run lint && npm test | tail", False, [PASSED, PIPED]),
        ("make test; echo done", False, [UNKNOWN]),
        ("make test || true", False, [UNKNOWN]),
        ("pytest -q &", False, [UNKNOWN]),
        ("npm run build > /tmp/log 2>&1 &", False, [UNKNOWN]),
        ("pytest a && cd nope", True, [UNKNOWN]),
        ("git add . ; cargo clippy", False, [PASSED]),
        ("FOO=1 uv run pytest tests/a.py", False, [PASSED]),
        (".venv/bin/ruff check .", False, [PASSED]),
        ("python3 -m pytest", False, [PASSED]),
        ("./gradlew build", True, [FAILED]),
        ("npx tsc --noEmit", False, [PASSED]),
        ("golangci-lint version", False, []),
        ("pytest --collect-only", False, []),
        ("npm ci", False, []),
        ("mkdir test && ls build", False, []),
        ("grep -r test .", False, []),
        ("git commit -m 'fix test; make build'", False, []),
        ("cat > t.sh <<'EOF'\npytest\nEOF", False, []),
        ("cat > t.py <<'EOF'\ndon't\nEOF\npytest t.py", False, [PASSED]),
        ('OPTIONS="-x -q" pytest', True, [FAILED]),
        ("cd $(git rev-parse --show-toplevel) && pytest", False, [PASSED]),
        ("PORT=1; pytest", False, [PASSED]),
    ],
)
def test_a_check_has_the_result_that_the_exit_tells(
    session: SessionBuilder, command: str, failed: bool, results: list[str]
) -> None:
    """Behind a pipe, before a `;`, sent off or in a chain that broke somewhere it is unknown."""
    ran(session, command, "3 failed" if failed else "0 failed, 9 passed", failed=failed)

    assert [one["result"] for one in recorded(session).checks.values()] == results


@pytest.mark.parametrize("output", ["3 failed, 2 passed in 0.1s", "Tests: 1 failed", "errors: 12"])
def test_a_check_that_counts_failures_did_not_pass(session: SessionBuilder, output: str) -> None:
    """Whatever it exits with; what it ended with is shown."""
    ran(session, "npm test", f"running\n{output}")

    told = f"- `npm test`: exit 0, though its output tells of failures, ended: {output}"
    assert told in card.card_text(recorded(session)).split("\n")


def test_a_folder_that_is_not_there_is_no_failed_check(session: SessionBuilder) -> None:
    """The check never ran."""
    ran(session, "cd nope && pytest", "bash: cd: nope: No such file or directory", failed=True)

    assert [one["result"] for one in recorded(session).checks.values()] == [UNKNOWN]


@pytest.mark.parametrize(
    "later",
    [
        "for i in a b; do pytest -q $i; done",
        "bash -c 'pytest -q'",
        "if ! pytest -q; then echo BROKEN; fi",
        "(pytest -q)",
        "! pytest -q",
        "exit 0; pytest -q",
    ],
)
def test_a_run_not_understood_makes_the_result_unknown(session: SessionBuilder, later: str) -> None:
    """Nothing is called passed that may have failed since; nor what was sent off or broken off."""
    ran(session, "pytest -q", "1 passed")
    ran(session, later, "1 failed")
    assert [one["result"] for one in recorded(session).checks.values()] == [UNKNOWN]

    ran(session, "pytest -q", "1 passed")
    call = session.tool_call(9, "Bash", command="pytest -q")
    answered(session, call, "", copy={"stdout": "", "stderr": "", "interrupted": True})
    assert [one["result"] for one in recorded(session).checks.values()] == [UNKNOWN]


def test_checks_of_different_folders_and_files_are_different(session: SessionBuilder) -> None:
    """One that passes does not hide another that failed."""
    ran(session, "cd frontend && npm test", failed=True)
    ran(session, "cd ../backend && npm test")
    ran(session, "pytest", failed=True)
    ran(session, "pytest tests/a.py")

    assert {one["command"]: one["result"] for one in recorded(session).checks.values()} == {
        "cd frontend && npm test": FAILED,
        "cd ../backend && npm test": PASSED,
        "pytest": FAILED,
        "pytest tests/a.py": PASSED,
    }


def test_a_check_keeps_its_last_result_only(session: SessionBuilder) -> None:
    """A failure that was mended is not told any more; what an output ended with is."""
    ran(session, "pytest tests/a.py", "1 failed in 2 s", failed=True)
    assert recorded(session).checks["pytest tests/a.py"]["end"] == "1 failed in 2 s"

    ran(session, "pytest tests/a.py", "1 passed")
    told = {"command": "pytest tests/a.py", "result": PASSED}
    assert recorded(session).checks == {"pytest tests/a.py": told}


def test_commits_and_pull_requests_are_those_made_here(session: SessionBuilder) -> None:
    """An amended commit takes the place of the one it was; what others print does not count."""
    ran(session, "git commit -m x", "[main 1111111] first\n 1 file changed")
    ran(session, "git commit --amend -m y", "[main 2222222] second")
    ran(session, "git log", "[main 3333333] not made here")
    ran(session, "git commit -m z", "[main 4444444] refused", failed=True)
    ran(session, "gh pr create --fill", "https://github.com/a/b/pull/7")
    ran(session, "gh pr view 8", "https://github.com/a/b/pull/8")

    record = recorded(session)

    assert record.commits == [["2222222", "second"]]
    assert record.pulls == ["https://github.com/a/b/pull/7"]


def test_a_command_that_works_after_a_similar_one_failed_is_kept(session: SessionBuilder) -> None:
    """With the one that failed; what is quite different, piped or the same is not."""
    ran(session, "git merge origin/main", "conflict", failed=True)
    ran(session, "ls -la")
    ran(session, "git merge origin/main --no-edit")
    ran(session, "docker ps", failed=True)
    ran(session, "docker ps")

    assert recorded(session).worked == [
        ["git merge origin/main --no-edit", "git merge origin/main"]
    ]


def test_commands_that_only_look_are_not_listed(session: SessionBuilder) -> None:
    """Nor checks, which have lines of their own."""
    for command in ("ls", "cat a | head", "pytest", "git push", "git push", "sed -n 1,2p a"):
        ran(session, command)

    assert list(recorded(session).commands) == ["git push"]


def test_a_command_is_on_the_card_once_its_shape_has_run_twice(session: SessionBuilder) -> None:
    """Numbers, texts and names of commits may differ; what goes on in the background says so."""
    for command in ("deploy --to 1", "make once", "git show 1234abc", "git show 99ffee1"):
        ran(session, command)
    ran(session, "deploy --to 2")
    for _ in range(2):
        call = session.tool_call(9, "Bash", command="npm start", run_in_background=True)
        session.tool_result(call, "started", toolUseResult={"backgroundTaskId": "b1"})

    assert card.card_text(recorded(session)).partition("without an error:\n")[2].split("\n") == [
        "- `npm start` (in the background)",
        "- `deploy --to 2`",
        "- `git show 99ffee1`",
    ]


@pytest.mark.parametrize(
    ("command", "left"),
    [
        ("git reset --hard HEAD~1", []),
        ("git reset --soft HEAD^^", []),
        ("git reset HEAD~", []),
        ("git reset --hard origin/main", []),
        ("git reset a.py", ["1111111", "2222222"]),
        ("git reset --hard", ["1111111", "2222222"]),
    ],
)
def test_a_commit_taken_back_is_not_told(
    command: str, left: list[str], session: SessionBuilder
) -> None:
    """Where nobody knows how many went, none is claimed."""
    ran(session, "git commit -m x", "[main 1111111] first")
    ran(session, "git commit -m y", "[main 2222222] second")
    ran(session, command, "HEAD is now at 0000000")

    assert [commit for commit, _ in recorded(session).commits] == left


@pytest.mark.parametrize(
    ("line", "output", "end"),
    [
        ("make test | tail -3", "2 failed", "2 failed"),
        ("cd web && make test | tail -3", "2 failed", "2 failed"),
        ("make test && make lint | tail -3", "lint: 2 issues\n[test] $ go test", None),
        ("make test | tail -3", "ok\n[lint] $ golangci-lint run", ""),
    ],
)
def test_an_ending_is_told_only_where_it_is_the_checks_own(
    line: str, output: str, end: str | None, session: SessionBuilder
) -> None:
    """Not where another program ran before it, nor what a task runner announces."""
    ran(session, line, output)

    assert list(recorded(session).checks.values())[-1].get("end") == end


def test_a_check_before_later_edits_says_so(session: SessionBuilder) -> None:
    """What passed then need not pass now; a plan that was written is no edit."""
    ran(session, "make test", "ok")
    answered(session, session.tool_call(9, "Write", file_path="/home/dev/.claude/plans/p.md"), "ok")
    assert ": passed\n" in card.card_text(recorded(session)) + "\n"

    answered(session, session.tool_call(9, "Edit", file_path="/a.py"), "ok")
    assert "`make test`: passed, before later edits" in card.card_text(recorded(session))

    ran(session, "make test", "ok")
    assert "before later edits" not in card.card_text(recorded(session))


def test_what_is_not_known_of_subagents_and_others_is_not_claimed(
    session: SessionBuilder,
) -> None:
    """A subagent's work stands elsewhere; of `a || b` nobody knows which succeeded."""
    ran(session, "deploy --fast || deploy --slow")
    ran(session, "git push")
    assert list(recorded(session).commands) == ["git push"]
    assert "Subagents" not in card.card_text(recorded(session))

    answered(session, session.tool_call(9, "Task", prompt="x"), "done")
    assert "Subagents ran too" in card.card_text(recorded(session))


@pytest.mark.parametrize(
    ("command", "is_check"),
    [
        ("make a b test", True),
        ("make a b c test", False),
        ("make -k a --jobs b test", True),
        ("make ci", True),
        ("npm ci", False),
        ("npm ci test", True),
        ("./gradlew check", True),
        ("ruff", True),
        ("ruff --version", False),
        ("ls test", False),
    ],
)
def test_a_runner_checks_where_one_of_its_first_three_words_says_so(
    command: str, is_check: bool
) -> None:
    """Options are no words of it, and `ci` installs with some."""
    record = ledger.Ledger("s")

    commands.note_run(record, command, "", None, failed=False)

    assert bool(record.checks) is is_check


def after(command: str, count: int, output: str = "", *, failed: bool = False) -> ledger.Ledger:
    """A record of so many commands, each with its number."""
    record = ledger.Ledger("s")
    for number in range(count):
        text = output.replace("#", f"{number:07d}")
        commands.note_run(
            record, command.replace("#", str(number)), text, str(number), failed=failed
        )
    return record


def test_of_many_checks_the_last_twelve_results_are_known() -> None:
    """The one that ran last stands last."""
    record = after("pytest test_#.py", 13)

    lines = [check["command"] for check in record.checks.values()]
    assert lines == [f"pytest test_{number}.py" for number in range(1, 13)]


def test_of_many_commands_the_last_forty_shapes_are_known() -> None:
    """Numbers and texts make no other shape."""
    record = ledger.Ledger("s")
    for number in range(41):
        name = chr(ord("a") + number // 20) + chr(ord("a") + number % 20)
        for run in ("1", "22"):
            commands.note_run(record, f"deploy {name} --step {run}", "", run, failed=False)

    kept = list(record.commands.values())
    assert len(kept) == 40
    assert kept[0]["line"] == "deploy ab --step 22"
    assert (kept[0]["first"], kept[0]["last"]) == ("1", "22")


def test_of_many_commits_the_last_thirty_and_of_pull_requests_the_last_ten_are_known() -> None:
    """In their order."""
    commits = after("git commit -m x", 31, "[main #] subject of #").commits
    pulls = after("gh pr create", 11, "https://example.com/a/b/pull/#").pulls

    assert [commit for commit, _ in commits] == [f"{number:07d}" for number in range(1, 31)]
    assert [int(pull.rpartition("/")[2]) for pull in pulls] == list(range(1, 11))


def test_the_last_five_commands_that_failed_wait_for_one_that_works() -> None:
    """And the last eight that did so are known, each with the one that had failed."""
    failed = after("deploy part #", 6, failed=True)
    worked = ledger.Ledger("s")
    for number in range(9):
        for flag, is_failed in (("--wrong", True), ("--right", False)):
            line = f"deploy the whole part {number} now {flag}"
            commands.note_run(worked, line, "", None, failed=is_failed)

    assert numbers(failed.failed) == [1, 2, 3, 4, 5]
    assert [int(line.split()[4]) for line, _ in worked.worked] == list(range(1, 9))
    assert worked.failed == []


@pytest.mark.parametrize(
    ("tried", "is_similar"),
    [
        ("deploy --to stage a b", True),  # three of five words
        ("deploy --to stage a b c", False),
        ("push --to stage", False),
        ("deploy --to stage", False),
    ],
)
def test_a_command_that_works_belongs_to_a_similar_one_that_failed(
    tried: str, is_similar: bool
) -> None:
    """The same program with most of its words; the same line again has merely worked this time."""
    record = ledger.Ledger("s")
    commands.note_run(record, tried, "", None, failed=True)
    commands.note_run(record, "deploy --to stage", "", None, failed=False)

    assert bool(record.worked) is is_similar


def test_a_very_long_command_is_kept_by_its_first_four_hundred_characters() -> None:
    """Its shape and its check too."""
    record = after("deploy " + "x" * 500, 1)
    check = after("pytest " + "x" * 500, 1)

    assert [len(one["line"]) for one in record.commands.values()] == [400]
    assert [len(one["command"]) for one in check.checks.values()] == [400]


@pytest.mark.parametrize(
    ("output", "end"),
    [
        ("a\nlast line  \n\n", "last line"),
        ("(Bash completed with no output)", ""),
        ("</bash-stderr>", ""),
        ("[test] $ go test", ""),
        ("[test] 3 failed", "[test] 3 failed"),
        ("x" * 500, "x" * 400),
        ("", ""),
    ],
)
def test_what_a_failed_check_ended_with_is_its_last_line(output: str, end: str) -> None:
    """Of four hundred characters at most; what the client or a runner writes is not its own."""
    record = ledger.Ledger("s")
    commands.note_run(record, "pytest", output, None, failed=True)

    assert [check["end"] for check in record.checks.values()] == [end]


@pytest.mark.parametrize(
    ("output", "result"),
    [
        ("1 failed" + "x" * 392, commands.PASSED),
        ("1 failed " + "x" * 391, commands.DOUBTFUL),
        ("1 failed " + "x" * 392, commands.PASSED),
        ("10 failures", commands.DOUBTFUL),
        ("0 failed", PASSED),
        ("1,200 tests failed", commands.DOUBTFUL),
        ("errors=2", commands.DOUBTFUL),
        ("errors=0", PASSED),
    ],
)
def test_failures_are_looked_for_in_the_last_four_hundred_characters(
    output: str, result: str
) -> None:
    """A count of none is not a failure."""
    record = ledger.Ledger("s")
    commands.note_run(record, "pytest", output, None, failed=False)

    assert [check["result"] for check in record.checks.values()] == [result]


@pytest.mark.parametrize(
    ("line", "failed", "results"),
    [
        ("pytest a; pytest b", False, [UNKNOWN, PASSED]),
        ("pytest a; pytest b", True, [UNKNOWN, FAILED]),
        ("pytest a && pytest b", False, [PASSED, PASSED]),
        ("pytest a && pytest b", True, [UNKNOWN, UNKNOWN]),
        ("cd x && pytest a", True, [FAILED]),
        ("make && pytest a", True, [UNKNOWN]),
        ("cd x && pytest a && ls", True, [UNKNOWN]),
        ("pytest a | tail; pytest b", False, [UNKNOWN, PASSED]),
        ("pytest a && pytest b | tail", False, [PASSED, PIPED]),
        ("pytest a\npytest b", False, [UNKNOWN, PASSED]),
        ("ls & pytest a", False, [PASSED]),
        ("pytest a || pytest b", False, [UNKNOWN, UNKNOWN]),
        ("ls; pytest a || true", False, [UNKNOWN]),
        ("ls || true; pytest a", False, [PASSED]),
    ],
)
def test_of_several_checks_each_has_what_the_exit_tells_of_it(
    line: str, failed: bool, results: list[str]
) -> None:
    """The line ends with the exit of its last list."""
    record = ledger.Ledger("s")
    commands.note_run(record, line, "", None, failed=failed)

    assert [check["result"] for check in record.checks.values()] == results


def test_comments_before_a_command_are_no_part_of_it() -> None:
    """One behind it is; what runs in the background says so."""
    record = ledger.Ledger("s")
    commands.note_run(record, "# first\n  # second\ndeploy now # third", "", "1", failed=False)
    commands.note_background_run(record, "# first\nserve " + "x" * 500, "2")

    first, second = record.commands.values()
    assert first == {
        "line": "deploy now # third",
        "first": "1",
        "last": "1",
        "background": False,
    }
    assert (len(second["line"]), second["background"]) == (400, True)
    assert second["line"].startswith("serve ")


@pytest.mark.parametrize(
    ("command", "is_unknown"),
    [
        ("bash -c 'pytest tests/a.py'", True),
        ("bash -c 'pytest tests/ab.py'", False),
        ("bash -c 'pytest-x tests/a.py'", False),
        ("bash -c 'mypy'", False),
    ],
)
def test_a_line_that_is_not_understood_outdates_the_checks_that_it_names(
    command: str, is_unknown: bool
) -> None:
    """By all of their words; the command stays."""
    record = ledger.Ledger("s")
    commands.note_run(record, "cd web && pytest -q tests/a.py", "", None, failed=False)
    commands.note_run(record, command, "", None, failed=False)

    (check,) = record.checks.values()
    assert check["command"] == "cd web && pytest -q tests/a.py"
    assert check["result"] == (UNKNOWN if is_unknown else PASSED)


@pytest.mark.parametrize(
    ("command", "output", "pulls"),
    [
        ("gh pr create", "https://e.org/a/b/pull/7\nhttps://e.org/a/b/pull/8", ["7"]),
        ("glab mr create", "https://e.org/a/b/-/merge_requests/9", ["9"]),
        ("gh pr create --dry-run", "https://e.org/a/b/pull/7", []),
        ("gh pr create", "https://e.org/a/b/issues/7", []),
        ("echo create", "https://e.org/a/b/pull/7", []),
    ],
)
def test_a_pull_request_is_the_first_address_that_creating_one_prints(
    command: str, output: str, pulls: list[str]
) -> None:
    """Made again it is known once."""
    record = ledger.Ledger("s")
    for _ in range(2):
        commands.note_run(record, command, output, None, failed=False)

    assert [address.rpartition("/")[2] for address in record.pulls] == pulls


def test_an_amended_commit_that_made_none_takes_nothing_back() -> None:
    """One that is told again stands once, and last."""
    record = ledger.Ledger("s")
    for command, output in (
        ("git commit -m a", "[main 1111111] first"),
        ("git commit -m b", "[main 2222222] second"),
        ("git commit --amend", "nothing to do"),
        ("git commit -m a", "[main 1111111] first"),
    ):
        commands.note_run(record, command, output, None, failed=False)

    assert record.commits == [["2222222", "second"], ["1111111", "first"]]
    assert after("git commit --amend", 1, "[main #] x").commits == [["0000000", "x"]]
