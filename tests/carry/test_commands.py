"""What commands tell: only what their exit says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from brimline.carry import card, commands, ledger
from brimline.carry.commands import FAILED, PASSED, PIPED, UNKNOWN

from .rows import ran, recorded

if TYPE_CHECKING:
    from brimline.testing import SessionBuilder


@pytest.mark.parametrize("output", ["3 failed, 2 passed in 0.1s", "Tests: 1 failed", "errors: 12"])
def test_a_check_that_counts_failures_did_not_pass(session: SessionBuilder, output: str) -> None:
    """Whatever it exits with; what it ended with is shown."""
    ran(session, "npm test", f"running\n{output}")

    told = f"- `npm test`: exit 0, though its output tells of failures, ended: {output}"
    assert told in card.card_text(recorded(session)).split("\n")


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
    ran(session, "git merge origin/main -q")
    ran(session, "docker ps", failed=True)
    ran(session, "docker ps")

    assert recorded(session).worked == [["git merge origin/main -q", "git merge origin/main"]]


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


def after(command: str, count: int, output: str = "", *, failed: bool = False) -> ledger.Ledger:
    """A record of so many commands, each with its number."""
    record = ledger.Ledger("s")
    for number in range(count):
        text = output.replace("#", f"{number:07d}")
        commands.note_run(
            record, command.replace("#", str(number)), text, str(number), failed=failed
        )
    return record


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
