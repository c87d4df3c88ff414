"""What a preview shows of an output, and what it admits to leaving out."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brimline.offload import signal
from brimline.offload.preview import BUDGETS, Preview, make_preview
from brimline.offload.source import Source, count_lines

TOOLS = st.sampled_from(["Bash", "Read", "Grep", "Glob", "WebFetch", "Agent", "mcp__x__y", ""])
SUBJECTS = st.sampled_from(["", "make test", "/a/b.go", "/a/plan.md", "/a/x.json", "/a/out.log"])
LINES = st.sampled_from(
    [
        "func Open(path string) (*Store, error) {",
        "\treturn store.ReadAll(ctx, readOptions)",
        "src/app/main.py:12: def handle(request):",
        "src/app/main.py",
        "error: cannot find module 'left-pad'",
        "2026-01-01T00:00:01Z INFO worker-1 done",
        "diff --git a/x.py b/x.py",
        "@@ -1,2 +1,3 @@ def f",
        '{"id": 1, "name": "thing"}',
        "# Heading",
        "",
        "   ",
        "\x1b[31mred\x1b[0m",
        "progress 1%\rprogress 100%",
        "日本語のログ行です",
        "\ud800 half a character",
        "x" * 900,
        "}",
    ]
)
TEXTS = st.one_of(
    st.text(max_size=400),
    st.lists(LINES | st.text(max_size=60), max_size=120).map("\n".join),
    st.lists(LINES, min_size=1, max_size=6).map(lambda some: "\n".join(some * 40) + "\n"),
    st.binary(max_size=400).map(lambda data: data.decode("utf-8", "replace")),
    st.binary(max_size=400).map(lambda data: data.decode("latin-1")),
)
NOTE = re.compile(r"(?: \((?:×\d+|\+\d+(?: or more)? alike|last of [\d,]+ states)\))+(?= …|$)")
ROW = re.compile(r"(\d+)(?:-(\d+))?: (.*)")


def covered(preview: Preview) -> list[int]:
    """Every line number of both kinds of ranges."""
    ranges = sorted([*preview.kept, *preview.omitted])
    return [number for first, last in ranges for number in range(first, last + 1)]


def program(functions: int) -> str:
    """Source code whose functions each mention a name of their own."""
    return "".join(
        f"func handleRequest{i}(ctx context.Context) error {{\n"
        f"\tvalue := store.fetchRecord{i}(ctx)\n\treturn value\n}}\n\n"
        for i in range(functions)
    )


@settings(max_examples=300, deadline=None)
@given(TEXTS, TOOLS, SUBJECTS, st.none() | st.integers(0, 6_000))
def test_any_text_has_a_preview_within_its_budget(
    text: str, tool: str, subject: str, budget: int | None
) -> None:
    """Nothing raises, the budget holds, the answer is always the same and can be sent as UTF-8."""
    preview = make_preview(text, tool, subject, budget)

    largest = max(limits.ceiling for limits in BUDGETS.values())
    assert len(preview.text) <= (largest if budget is None else max(budget, 200))
    again = make_preview(text, tool, subject, budget)
    assert (preview.text, preview.kept) == (again.text, again.kept)
    preview.text.encode("utf-8")


@settings(max_examples=300, deadline=None)
@given(TEXTS, TOOLS, SUBJECTS, st.none() | st.integers(200, 4_000))
def test_every_line_is_kept_or_omitted_and_never_both(
    text: str, tool: str, subject: str, budget: int | None
) -> None:
    """The two lists of ranges together are all lines, each once."""
    preview = make_preview(text, tool, subject, budget)

    assert covered(preview) == list(range(1, count_lines(text) + 1))


@settings(max_examples=300, deadline=None)
@given(TEXTS, st.none() | st.integers(200, 4_000))
def test_a_kept_line_is_shown_as_it_is_or_marked(text: str, budget: int | None) -> None:
    """Cut at the end, trimmed at the beginning or folded: each has its mark, under its number."""
    preview = make_preview(text, "Bash", "make", budget)
    lines = text.split("\n")
    rows = {int(match[1]): match[3] for match in map(ROW.match, preview.text.split("\n")) if match}

    for first, last in preview.kept:
        for number in range(first, last + 1):
            if number not in rows:
                assert any(" (×" in row for start, row in rows.items() if start < number)
                continue
            line, shown = signal.clean(lines[number - 1]), rows[number]
            shown = NOTE.sub("", shown)
            start = shown.removeprefix("…").partition("…")[0].rstrip()
            assert start in line
            assert shown.startswith(line) or "…" in shown


@settings(max_examples=100, deadline=None)
@given(st.lists(LINES, min_size=1, max_size=400).map("\n".join), SUBJECTS)
def test_the_rows_spell_out_the_ranges(text: str, subject: str) -> None:
    """Read together, the numbers in front of the rows leave no line out and name none twice."""
    preview = make_preview(text, "Bash", subject)
    rows = [match for match in map(ROW.match, preview.text.split("\n")) if match]

    if preview.kind not in ("json", "paths", "binary"):
        spelled = [n for row in rows for n in range(int(row[1]), int(row[2] or row[1]) + 1)]
        assert spelled == list(range(1, count_lines(text) + 1))


def test_source_code_is_shown_as_an_outline_with_the_names_of_each_part() -> None:
    """Definitions keep their numbers, and what they use stands beside them."""
    preview = make_preview(program(20), "Read", "/src/server.go")

    assert preview.kind == "code"
    assert re.search(
        r"^6-\d+: func handleRequest1\(.* … .*fetchRecord1", preview.text, re.MULTILINE
    )
    assert all(f"fetchRecord{i}" in preview.text for i in range(20))


@pytest.mark.parametrize("size", [29_000, 31_000])
def test_a_preview_takes_no_more_than_the_client_would_show_itself(size: int) -> None:
    """Of a command's output over 30,000 characters it shows 2,000; of a file it shows all."""
    text = program(600)[:size]

    shown = len(make_preview(text, "Bash", "cat server.go").text)

    assert (shown > 2_000) == (size < 30_000)
    assert len(make_preview(text, "Read", "/src/server.go").text) > 2_000


def test_names_stand_in_the_range_that_holds_them() -> None:
    """A range with a name in it is where the name can be fetched."""
    text = program(60)
    lines = text.split("\n")

    for row in make_preview(text, "Read", "/src/server.go").text.split("\n"):
        match = ROW.match(row)
        assert match
        part = "\n".join(lines[int(match[1]) - 1 : int(match[2] or match[1])])
        for name in match[3].partition(" … ")[2].split():
            assert name in part


def test_failures_and_totals_of_a_test_run_are_shown_with_their_numbers() -> None:
    """What went wrong outlives a thousand lines of what went right."""
    lines = [f"tests/test_{i}.py::test_case_{i} PASSED" for i in range(1_500)]
    lines[700] = "FAILED tests/test_store.py::test_put - AssertionError: torn blob"
    lines[701] = "E   AssertionError: assert 3 == 4"
    lines.append("=== 1 failed, 1499 passed in 12.30s ===")

    preview = make_preview("\n".join(lines) + "\n", "Bash", "pytest -v")

    assert re.search(
        r"^701(-\d+)?: FAILED tests/test_store.py::test_put", preview.text, re.MULTILINE
    )
    assert re.search(r"^702(-\d+)?: E   AssertionError: assert 3 == 4", preview.text, re.MULTILINE)
    assert "1501: === 1 failed, 1499 passed in 12.30s ===" in preview.text


def test_a_message_that_comes_again_and_again_is_shown_once() -> None:
    """The second thousand of the same warning says nothing new, and leaves room for the error."""
    lines = [f"warning: unused variable x{i} [-Wunused]" for i in range(900)]
    lines[450] = "main.c:12:3: error: expected ';' before '}' token"

    preview = make_preview("\n".join(lines), "Bash", "make")

    assert re.search(r"^451(-\d+)?: main.c:12:3: error: expected ';'", preview.text, re.MULTILINE)
    assert preview.text.count("unused variable") < 10
    assert re.search(r"unused variable x\d+ \[-Wunused\] \(\+\d+ alike\)", preview.text)


def test_repeated_lines_are_folded_with_their_count() -> None:
    """A run of equal lines takes one row, and counts as shown."""
    text = "start\n" + "waiting for lock\n" * 2_000 + "done\n"

    preview = make_preview(text, "Bash", "deploy")

    assert "2-2001: waiting for lock (×2000)" in preview.text
    assert preview.omitted == ()


def test_what_all_lines_of_a_log_begin_with_is_shown_once() -> None:
    """Time stamps and job names make room for what the lines say."""
    lines = [f"build\tcompile\t2026-02-04T23:38:{i % 60:02}.70Z step {i} of it" for i in range(300)]
    lines[150] = "build\tcompile\t2026-02-04T23:38:30.70Z error: linker died"

    text = make_preview("\n".join(lines), "Bash", "gh run view --log").text

    assert text.count("build\tcompile") < 5
    assert re.search(r"^151(-\d+)?: …error: linker died", text, re.MULTILINE)


def test_json_is_described_by_its_keys_lengths_and_samples() -> None:
    """The shape, and what tells the items apart, instead of the first lines."""
    items = [
        {"id": 4_000_000 + i, "path": f"src/part{i}.py", "url": f"https://x.test/{i}", "ok": True}
        for i in range(120)
    ]

    preview = make_preview(json.dumps({"total": 120, "items": items}), "Bash", "gh api x")

    assert preview.kind == "json"
    assert preview.text.startswith(
        'JSON: {total: 120, items: [120 × {id: 4000000, path: "src/part0'
    )
    assert 'items[1] path="src/part1.py" id=4000001' in preview.text
    assert preview.kept == ()


def test_the_samples_of_a_list_are_all_of_one_item() -> None:
    """The first that tells most; 0 is a number, and keys of other items are marked."""
    items: list[dict[str, object]] = [{"id": i, "name": f"n{i}", "note": None} for i in range(800)]
    items[700]["late"] = True
    told = [{"id": i, "error": {"code": 40 + i} if i == 7 else None} for i in range(60)]

    first = make_preview(json.dumps(items), "Bash", "curl x").text
    second = make_preview(json.dumps(told), "Bash", "curl x").text

    assert first.startswith('JSON: [800 × {id: 0, name: "n0", note late?}]\n')
    assert '\n[0] name="n0" id=0\n' in first
    assert second.startswith("JSON: [60 × {id: 7, error: {code: 47}}]")


def test_json_lines_and_what_follows_them_are_both_mentioned() -> None:
    """Many documents are counted; a remark after them is not swallowed."""
    text = "".join(f'{{"step": {i}, "state": "s{i}"}}\n' for i in range(50)) + "cwd was reset\n"

    preview = make_preview(text, "Bash", "cat log")

    assert preview.text.startswith('50 JSON documents: [50 × {step: 0, state: "s0"}]')
    assert '…then 13 characters: "cwd was reset"' in preview.text


def test_a_list_of_paths_becomes_directories_with_counts_and_names() -> None:
    """The tree is told, not its first leaves."""
    paths = [f"src/big/file{i}.py" for i in range(300)] + ["docs/a.md", "docs/b.md"]

    preview = make_preview("\n".join(paths), "Bash", "find .")

    assert preview.kind == "paths"
    assert "302 paths" in preview.text
    assert "src/big/ (300): file0.py file1.py" in preview.text
    assert "docs/ (2): a.md b.md" in preview.text


def test_a_recursive_listing_is_told_by_its_directories() -> None:
    """The lines with a directory's name, and blank ones, are no paths."""
    lines = ["README"]
    for folder in [".", "./src", "./src/with space"]:
        lines += ["", f"{folder}:", *(f"name{i}" for i in range(200)), "Makefile"]

    preview = make_preview("\n".join(lines) + "\n", "Bash", "ls -R")

    assert preview.kind == "paths"
    assert preview.text.startswith("603 names in 3 directories, with counts and names:\n")
    assert "\n./ (201): name0 name1" in preview.text
    assert "\n./src/with space/ (201): name0" in preview.text


def test_a_huge_listing_files_no_name_under_a_directory_that_was_not_looked_at() -> None:
    """Between both ends lines are missing, and with them the directory's own."""
    lines = [".:"] + [f"error_log_{i}.txt" for i in range(30_000)] + ["", "./end:", "last.txt"]

    text = make_preview("\n".join(lines), "Bash", "ls -R").text

    counts = {
        row.split(" (")[0]: int(row.split("(")[1].split(")")[0].replace(",", ""))
        for row in text.splitlines()[1:]
    }
    assert text.startswith("30,004 lines of a listing; directories among the ")
    assert counts["./end/"] == 1
    assert counts["./"] * len("error_log_00000.txt ") < 130_000


@pytest.mark.parametrize("text", ["all:\n\tcc bin/a\n\nbin/a:\n\tcc a.c\n\nb:\n", "x:\n\na/b\n"])
def test_rules_of_a_makefile_are_no_listing(text: str) -> None:
    """They are indented, and so are many other things with colons."""
    assert make_preview(text * 30, "Bash", "cat Makefile").kind != "paths"


@pytest.mark.parametrize(
    ("form", "row"),
    [
        ("C:\\src\\mod{}\\file{}.cs", "C:\\src\\mod1\\ (60): file1.cs file11.cs"),
        ("C:\\Program Files\\mod{}\\file{}", "C:\\Program Files\\mod1\\ (60): file1 file11"),
        ("./my docs/dir {}/file {}.txt", "./my docs/dir 1/ (60): file 1.txt file 11.txt"),
    ],
)
def test_paths_of_windows_and_with_spaces_are_grouped_too(form: str, row: str) -> None:
    """By their own separator."""
    paths = [form.format(i % 10, i) for i in range(600)]

    preview = make_preview("\n".join(paths), "Bash", "find .")

    assert preview.kind == "paths"
    assert row in preview.text


def test_names_without_a_directory_are_not_filed_under_the_root() -> None:
    """A plain `ls` says nothing about where it was."""
    text = make_preview("\n".join(f"part{i}.txt" for i in range(900)), "Bash", "ls").text

    assert "\n. (900): part0.txt" in text


def test_a_diff_names_its_files_and_hunks() -> None:
    """Every file that was changed is on the list."""
    text = "".join(
        f"diff --git a/pkg/f{i}.go b/pkg/f{i}.go\n--- a/pkg/f{i}.go\n+++ b/pkg/f{i}.go\n"
        f"@@ -1,3 +1,4 @@ func old{i}()\n+\tcallHelper{i}()\n \tunchanged()\n"
        for i in range(12)
    )

    preview = make_preview(text, "Bash", "git diff")

    assert preview.kind == "diff"
    assert all(f"diff --git a/pkg/f{i}.go" in preview.text for i in range(12))


def test_a_search_names_every_file_it_found() -> None:
    """One row per file, with what else its lines mention."""
    text = "".join(
        f"src/module{f}.py:{n}:    result = computeThing{f}(value)\n"
        for f in range(10)
        for n in range(1, 30)
    )

    preview = make_preview(text, "Grep", "computeThing")

    assert preview.kind == "grep"
    assert all(f"src/module{f}.py:1:" in preview.text for f in range(10))


@pytest.mark.parametrize("text", ["\x00\x01\x02" * 4_000, "\ufffd\ufffdPK\x03\x04" * 3_000])
def test_binary_is_never_dumped(text: str) -> None:
    """Bytes that no one can read are counted, not shown."""
    preview = make_preview(text, "Bash", "cat image.png")

    assert preview.kind == "binary"
    assert preview.text == f"Binary data, not shown ({len(text):,} characters)."


def test_terminal_escapes_and_redrawn_lines_do_not_get_through() -> None:
    """The model sees what a person saw in the end."""
    text = "\x1b[1;31merror: boom\x1b[0m\n" + "10%\r50%\r100% fetched\n" + "tick\n" * 2_000

    shown = make_preview(text, "Bash", "npm i").text

    assert "error: boom" in shown
    assert "100% fetched" in shown
    assert "\x1b" not in shown
    assert "50%" not in shown


@pytest.mark.parametrize("updates", [2_000, 30_000])
def test_a_progress_bar_is_shown_as_it_stood_in_the_end(updates: int) -> None:
    """With how many states were drawn over, however long the line, and what cleared it last."""
    bar = "".join(f"\rDownloading model.bin {i} kB" for i in range(updates))

    text = make_preview(f"start\n{bar}\r\x1b[K\nmodel.bin saved\n", "Bash", "fetch").text

    last = f"2: Downloading model.bin {updates - 1} kB (last of {updates:,} states)"
    assert text.splitlines() == ["1: start", last, "3: model.bin saved"]


def test_what_a_progress_bar_ends_with_can_be_a_failure() -> None:
    """The last state counts, not the first six hundred characters."""
    bar = "".join(f"\rDownloading {i}%" for i in range(100)) + "\rERROR: checksum mismatch"
    lines = [f"step {i} done" for i in range(2_000)]
    lines[1_000] = bar

    text = make_preview("\n".join(lines), "Bash", "fetch").text

    assert re.search(
        r"^1001.*: ERROR: checksum mismatch \(last of 101 states\)", text, re.MULTILINE
    )


@pytest.mark.row("S2-28")
def test_an_output_of_five_thousand_lines_is_capped() -> None:
    """However long the output, the preview is not."""
    text = "".join(f"line {i} of the output\n" for i in range(5_000))

    assert len(make_preview(text, "Bash", "seq").text) <= BUDGETS["log"].ceiling


def test_a_huge_text_is_looked_at_from_both_ends_and_where_it_cries_out() -> None:
    """Ten megabytes do not hide the one line that matters, nor shift its number."""
    lines = [f"{i} lorem ipsum dolor sit amet consectetur" for i in range(200_000)]
    lines[123_456] = "ERROR: disk is full"

    preview = make_preview("\n".join(lines) + "\n", "Bash", "run")

    assert re.search(r"^123457(-\d+)?: ERROR: disk is full", preview.text, re.MULTILINE)
    assert preview.text.startswith("1: 0 lorem ipsum")
    assert covered(preview) == list(range(1, 200_001))


ALARMS = [
    "error TS2304: Cannot find name 'foo'.",
    "npm ERR! code ELIFECYCLE",
    "make: *** [all] Error 2",
    "thread 'main' panicked at src/main.rs:4:5",
    "Segmentation fault (core dumped)",
    "CRITICAL out of disk",
    'Exception in thread "main" java.lang.IllegalStateException',
    "a.c:(.text+0x1a): undefined reference to `foo'",
    "not ok 5 - thing",
    "Build failed with 3 errors",
    "3 failed, 200 passed in 3.2s",
    "bash: /etc/shadow: Permission denied",
    "Killed",
    "✗ test failed",
    "  ✘ should add numbers",
    "❌ deploy",
    "FAILED tests/test_x.py::test_y - assert 1 == 2",
    "Traceback (most recent call last):",
    "panic: runtime error: index out of range",
    "fatal: not a git repository",
    "E   AssertionError: boom",
    "warning: unused variable",
    "sh: 1: tsc: command not found",
    "cat: x: No such file or directory",
    "curl: (7) Failed to connect: Connection refused",
]


@pytest.mark.parametrize("alarm", ALARMS)
def test_an_alarm_is_found_in_the_middle_of_any_output(alarm: str) -> None:
    """In fifteen hundred lines and in two hundred thousand alike, under its number."""
    for count in (1_500, 200_000):
        lines = [f"{i} line of output" for i in range(count)]
        lines[count // 2] = alarm

        text = make_preview("\n".join(lines), "Bash", "make").text

        rows = [row for row in text.splitlines() if row.startswith(str(count // 2 + 1))]
        assert [signal.clean(alarm) in row for row in rows] == [True]


def test_a_word_on_every_line_does_not_hide_the_line_that_matters() -> None:
    """Flags of a compiler are no errors, and a hundred messages are not all there are."""
    lines = [f"cc -Werror -Wall -c part{i}_{i * 7}.c -o errors/part{i}.o" for i in range(60_000)]
    lines[40_000] = "part9.c:12:3: error: expected ';' before '}' token"

    text = make_preview("\n".join(lines), "Bash", "make V=1").text

    assert re.search(r"^40001(-\d+)?: part9.c:12:3: error: expected", text, re.MULTILINE)


def test_messages_alike_are_counted_or_said_to_be_more() -> None:
    """A number is exact where every line was looked at."""
    few = [f"warning: unused variable x{i}" for i in range(900)]
    many = [f"warning: unused variable x{i}" for i in range(90_000)]

    assert "x0 (+899 alike)" in make_preview("\n".join(few), "Bash", "make").text
    assert re.search(
        r"x0 \(\+\d+ or more alike\)", make_preview("\n".join(many), "Bash", "make").text
    )


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(["a", "ERROR: b", "é FAIL ✗", "c" * 70_000, ""]), max_size=30),
    st.booleans(),
)
def test_the_lines_of_a_huge_text_keep_their_numbers(parts: list[str], ends: bool) -> None:
    """What is looked at is what stands there."""
    text = "\n".join(parts * 4) + ("\n" if ends else "")
    lines = text.split("\n")

    source = Source(text)

    assert list(source.numbers) == sorted(set(source.numbers))
    for position, number in enumerate(source.numbers):
        line = source.lines[position]
        assert lines[number].startswith(line)
        assert len(lines[number]) == len(line) + source.beyond.get(position, 0)


def test_one_line_without_end_is_cut_with_its_length() -> None:
    """A minified file does not come through as a whole."""
    preview = make_preview("var a=1;" * 50_000, "Bash", "cat dist.js")

    assert len(preview.text) < 400
    assert re.search(r"…\+\d+", preview.text)
    assert preview.kept == ((1, 1),)


@pytest.mark.parametrize("length", [39_000, 41_000, 300_000])
def test_what_is_left_out_of_a_long_line_is_counted_to_its_end(length: int) -> None:
    """Also where the line is too long to be looked at."""
    text = make_preview("x" * length, "Bash", "cat dist.js").text
    found = re.search(r"^1: (x+)…\+(\d+)$", text, re.MULTILINE)

    assert found
    assert len(found[1]) + int(found[2]) == length


@pytest.mark.parametrize(
    ("text", "long"),
    [
        ("var a=1;" * 5_000, True),
        (json.dumps([{"id": i, "name": f"n{i}"} for i in range(800)]), True),
        (json.dumps([{"id": i, "name": f"n{i}"} for i in range(800)], indent=1), False),
        ("a line\n" * 5_000, False),
        ("\rDownloading" * 5_000, False),
    ],
)
def test_lines_too_long_to_be_asked_for_come_with_other_ways(text: str, long: bool) -> None:
    """Of one line there is no range of lines."""
    shown = make_preview(text, "Bash", "cat dist.js").text

    assert ("--bytes A:B" in shown.splitlines()[-1]) == long
    assert ("store get KEY --find WORDS" in shown) == long


def test_words_that_the_call_itself_holds_are_not_repeated() -> None:
    """The command stands right above the stub."""
    text = "".join(f"row {i} mentions specialFlagName and otherThing{i}\n" for i in range(60))

    names = make_preview(text, "Bash", "run --with specialFlagName").text.split()

    assert "otherThing30" in names
    assert names.count("specialFlagName") < 30
