"""What a tool call is remembered by."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brimline.offload import patterns, shellwords

PARTS = [
    *('"', "'", "`", "$(", ")", "(", "<<", "<", ">", "|", "&", ";", "\n", "\\", "#", "{", "}"),
    *("git ", "EOF", " ", "1", "-c ", "bash ", "/", "=", "sudo ", "timeout ", "é", "\0", "\ud800"),
]


@pytest.mark.row("S3-11")
@pytest.mark.parametrize(
    ("command", "pattern"),
    [
        ("cd app && git log --oneline -50 2>&1 | head", "git log"),
        ("git -C /a/b -c x.y=z diff HEAD~3 -- src", "git diff"),
        ("python -m pytest -q tests", "python -m pytest"),
        (".venv/bin/python -X dev -m pytest", "python -m pytest"),
        ("PYTHONPATH=. python3 tools/count.py --all", "python3 count.py"),
        ("python -c 'import sys'", "python -c"),
        ("python3 - <<'EOF'\nimport git; git.log()\nEOF", "python3"),
        ("npm run build -- --prod", "npm run build"),
        ("npm --prefix web test", "npm test"),
        ("./x.sh --all", "./x.sh"),
        ("/opt/tools/bin/x.sh", "x.sh"),
        ("bash scripts/x.sh", "bash x.sh"),
        ("make -C sub -j 8 V=1 all", "make all"),
        ("make", "make"),
        ("docker compose -f a.yml logs web", "docker compose logs"),
        ("kubectl -n prod get pods -o wide", "kubectl get"),
        ("gh pr view 12 --json title", "gh pr view"),
        ("aws --profile me s3 ls s3://x", "aws s3 ls"),
        ("uv run python -m pytest", "uv run python -m pytest"),
        ("npx -p typescript tsc --noEmit", "npx tsc"),
        ("go test ./... -run X", "go test"),
        ("grep -rn foo .", "grep"),
        ("ssh host 'make test'", "ssh"),
        ("/usr/bin/git status", "git status"),
    ],
)
def test_a_command_is_its_program_and_what_it_is_told_to_do(command: str, pattern: str) -> None:
    """Arguments, options and the program's folder are dropped."""
    assert patterns.command_pattern(command) == pattern


@pytest.mark.parametrize(
    ("command", "pattern"),
    [
        ("A=1 B='x y' git log", "git log"),
        ("sudo -u bob -E git log", "git log"),
        ("time git log", "git log"),
        ("timeout -k 5 30 git log", "git log"),
        ("env -i PATH=x nice -n 5 git log", "git log"),
        ("nohup stdbuf -oL git log", "git log"),
        ("bash -lc 'cd x; git log | tail'", "git log"),
        ('sh -c "git log"', "git log"),
    ],
)
def test_what_stands_before_a_program_is_dropped(command: str, pattern: str) -> None:
    """Assignments, privileges, limits, and a shell that runs one command."""
    assert patterns.command_pattern(command) == pattern


@pytest.mark.parametrize(
    ("command", "pattern"),
    [
        ("git log | grep fix | head -5", "git log"),
        ("cat data.csv | python report.py", "python report.py"),
        ("cat a.txt | sort | uniq -c", "cat"),
        ("yes | apt-get install x", "apt-get install"),
        ("( cd x && make all ) | tail", "make all"),
        ("find . -name '*.py' | xargs wc -l", "find"),
        ("make > build.log 2>&1; tail -50 build.log", "tail"),
        ('make 2>&1; echo "exit $?"', "make"),
        ("cat f 2>/dev/null", "cat"),
        ("npm run build && ls -la dist", "npm run build"),
        ("git add -A && git commit -m 'x; y' && cargo test", "cargo test"),
        ("export A=b; mkdir -p out; pytest -q", "pytest"),
        ("for f in *.py; do echo $f; cat $f; done", "cat"),
        ("if grep -q x f; then make; fi", "make"),
        ("while read x; do curl $x; done < list", "curl"),
        ("cat <<'EOF' > f\nrm -rf x | git log\nEOF\npytest", "pytest"),
        ("# git log\nmake all  # not this", "make all"),
        ("git log |& head", "git log"),
        ("pytest -q &> out.txt; git diff", "git diff"),
        ("echo hi", "echo"),
    ],
)
def test_of_several_commands_the_one_that_printed_most_counts(command: str, pattern: str) -> None:
    """What feeds the filters of a pipeline, and the last that prints more than a little."""
    assert patterns.command_pattern(command) == pattern


@pytest.mark.parametrize("command", ["", "   ", ";;", "(((", "2>&1", "> f", "$(", "`", "timeout 5"])
def test_a_line_without_a_command_is_remembered_by_the_tool(command: str) -> None:
    """There is always something to remember it by."""
    assert patterns.pattern_of("Bash", {"command": command}) == "Bash"


@given(st.lists(st.sampled_from(PARTS), max_size=40).map("".join))
def test_no_command_line_raises(command: str) -> None:
    """Unbalanced quotes, half a here-document, broken characters: all give some short pattern."""
    pattern = patterns.command_pattern(command)

    assert len(pattern) <= 120
    assert pattern == " ".join(pattern.split())


@pytest.mark.parametrize("piece", ['"$(', "(", "'", "<<a\n", 'bash -c "', "sudo ", "a|", "npx "])
def test_a_huge_or_deep_command_line_is_cut(piece: str) -> None:
    """Depth and length are foreign."""
    assert len(patterns.command_pattern(piece * 20_000)) <= 120


@pytest.mark.parametrize(
    ("tool", "tool_input", "pattern"),
    [
        ("Read", {"file_path": "/home/dev/my file.py"}, "Read /home/dev/my file.py"),
        ("Grep", {"pattern": "secret"}, "Grep"),
        ("Glob", {"pattern": "**"}, "Glob"),
        ("WebFetch", {"url": "https://me@Example.org:8443/a/b?c=d#e"}, "WebFetch example.org"),
        ("WebFetch", {"url": "example.org/a"}, "WebFetch example.org"),
        ("WebSearch", {"query": "x"}, "WebSearch"),
        ("mcp__linear__list_issues", {"team": "x"}, "mcp__linear__list_issues"),
        ("Read", {}, "Read"),
        ("Bash", {"command": 5}, "Bash"),
    ],
)
def test_other_tools_are_remembered_by_their_subject(
    tool: str, tool_input: dict[str, object], pattern: str
) -> None:
    """A file, a host, or the tool itself; never what was searched for."""
    assert patterns.pattern_of(tool, tool_input) == pattern


def test_a_sidecars_source_gives_the_same_pattern_as_the_call() -> None:
    """A recall knows the stored output only, and has to find what was learned about the call."""
    command = "cd app && npm run build"

    assert patterns.of_subject("Bash", command) == patterns.pattern_of("Bash", {"command": command})


def test_words_lose_their_quotes_and_redirects_their_targets() -> None:
    """What a shell would take away before it runs a command."""
    line = 'git log --format=\'%h %s\' "a $(b "c") d" 2> err.txt < in.txt | tail -n 5 > out.txt'

    pipeline = shellwords.pipelines(line)[0]

    assert [part.words for part in pipeline] == [
        ["git", "log", "--format=%h %s", "a $ d"],
        ["tail", "-n", "5"],
    ]
    assert [part.redirected for part in pipeline] == [False, True]
