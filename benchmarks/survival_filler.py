"""The filler of the survival test: prompts, prose and tool calls with nothing to be kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random

FIRST_PROMPT = (
    "We are getting the warehouse software ready for the spring release. Work through the open"
    " issues with me, one after the other, and tell me what you find."
)
PROMPTS = (
    *("go on", "ok, continue", "looks good", "yes please", "what's next?", "hm, why is that?"),
    *("can you explain that part again?", "ok", "run the tests again", "sounds right, go ahead"),
    *("show me the diff", "is that really needed?", "and the other one?", "great, thanks"),
    *("commit", "how long will that take?", "can you double check this?", "fine by me"),
    *("try it", "next one", "let's look at the second finding", "what does this function do?"),
    *("any other places?",),
)
_NARRATION = (
    "Let me look at the code that handles this.",
    "I'll check {path} first.",
    "Now let me run the tests to see where we are.",
    "Let me search for other places that use it.",
    "Good, that part is clear. Now the callers.",
    "I'll read {path} to understand the flow.",
    "Looking at the test output now.",
    "Let me verify the change.",
    "I see what is going on here, let me confirm it.",
    "Now I'll update the caller in {path}.",
)
_SUMMARIES = (
    "All {n} tests pass.",
    "The change is small and the tests still pass.",
    "That part behaves as described, nothing to fix there.",
    "I looked through the callers and they all handle the empty case.",
    "Both variants give the same result here.",
    "The function reads the rows, groups them and writes the report.",
    "There are {n} matches, most of them in tests.",
    "Nothing unusual in this file. The naming could be clearer, but it works.",
    "The diff touches {n} lines in two files.",
    (
        "Here is what I see:\n\n- the loop runs once per item\n- the cache is cold at the start\n"
        "- the result is sorted at the end\n\nShall I go on?"
    ),
)
_PATHS = (
    *("src/app/main.py", "src/app/report.py", "tests/test_report.py", "src/app/util.py"),
    *("src/web/views.py", "src/web/forms.py", "src/app/models.py", "tests/test_models.py"),
)
_COMMANDS = (
    "git status",
    "git diff --stat",
    "ls -la",
    "git log --oneline -5",
    "wc -l src/app/*.py",
)
FAILING_COMMANDS = (
    *("make check-{n}", "./run.sh step{n}", "go test ./pkg/part{n}", "npm run job{n}"),
    *("cargo build -p unit{n}", "python tools/gen{n}.py", "psql -f batch{n}.sql"),
)
ERRANDS = (
    *("Trace the slow query", "Survey the plugins", "Review the importer", "Find dead settings"),
    *("Check the callers", "Compare the two loaders", "Look for leaks", "Audit the exports"),
)
_OPENERS = (
    "Thanks, that helps.",
    "I had a look at the last change and it reads well.",
    "Before I forget it.",
    "Quick note from my side.",
    "Had a long call about this today.",
)
_CLOSERS = (
    "Otherwise carry on as before.",
    "Then show me the diff again.",
    "Let me know what you find.",
    "No rush.",
    "I'm in meetings until four.",
)
_LEADS = {
    "constraint": ("A few ground rules:", "Please respect the following:", "What you must not do:"),
    "decision": ("What we settled on:", "Decisions so far:", "Agreed yesterday:"),
    "rejected": ("Options we looked at:", "What we will not do:", "Off the table:"),
}
_NOISE = (
    "Step {m} of the list is through, {n} lines looked at.",
    "{path} has {n} lines and {m} functions.",
    "Updated {path}, {m} lines changed.",
    "The suite ran in {m}.{n} seconds.",
    "{n} passed, {m} skipped.",
    "Read {path} from line {m} to line {n}.",
    "The report for {path} is {n} bytes long.",
    "Checked {m} callers of `run` in {path}.",
)
_LOG = (
    "collecting files",
    "step {n} of 40",
    "  cached /tmp/build/obj{n}.o",
    "using 4 workers",
    "warning: deprecated option ignored",
    "downloading index",
    "linking",
)
_REPORT = (
    "I went through the files that were named and followed the calls from the entry point.",
    "The structure is the usual one: a reader, a transformer and a writer.",
    "Most of the code is covered by tests.",
    "The naming is consistent across the modules.",
    "There is some duplication between the two halves, which is harmless.",
    "The error handling follows the same scheme everywhere.",
    "The rest of the module only passes values on.",
    "I did not change anything.",
)


def noise(source: random.Random) -> str:
    """A report of the assistant's that is full of paths and figures and means little."""
    lines = [
        source.choice(_NOISE).format(
            n=source.randint(2, 900), m=source.randint(2, 90), path=source.choice(_PATHS)
        )
        for _ in range(source.randint(2, 5))
    ]
    if source.random() < 0.5:
        return "Progress:\n\n" + "\n".join(f"- {line}" for line in lines)
    return " ".join(lines)


def bundle(texts: list[str], source: random.Random) -> str:
    """Several facts in one message: a paragraph, lines, or a list."""
    ended = [text if text[-1] in ".!?" else text + "." for text in texts]
    way = source.randrange(4)
    if way == 0:
        return f"{source.choice(_OPENERS)} {' '.join(ended)} {source.choice(_CLOSERS)}"
    if way == 1:
        return "\n".join(texts)
    if way == 2:
        listed = "\n".join(f"{number}. {text}" for number, text in enumerate(texts, 1))
        return f"{source.choice(_OPENERS)}\n\n{listed}"
    return "## Summary\n\n" + "\n".join(f"- {text}" for text in ended)


def embed(text: str, source: random.Random) -> str:
    """A fact alone, with a sentence around it, or in the middle of a long prompt."""
    way = source.random()
    if way < 0.4 or text.startswith("- "):
        return text
    ended = text if text[-1] in ".!?" else text + "."
    if way < 0.7:
        return f"{source.choice(_OPENERS)} {ended}"
    return f"{source.choice(_OPENERS)} {ended} {source.choice(_CLOSERS)}"


def as_list(kind: str, text: str, source: random.Random) -> str:
    """A fact as an item of a list, under the line that introduces it."""
    return f"{source.choice(_LEADS[kind])}\n- {text}\n\n{source.choice(_CLOSERS)}"


def tell(text: str, source: random.Random) -> str:
    """A fact in the assistant's prose."""
    if source.random() < 0.4 or text.startswith("- "):
        return text
    return f"{summary(source)} {text} {narration(source)}"


def report(text: str, source: random.Random) -> str:
    """A fact in the middle of a long report."""
    before = source.sample(_REPORT, 4)
    after = source.sample(_REPORT, 3)
    return f"## Findings\n\n{' '.join(before)}\n\n{text}\n\n{' '.join(after)}"


def failing_output(text: str, source: random.Random) -> str:
    """A telling line between others."""
    lines = [source.choice(_LOG).format(n=source.randint(1, 99)) for _ in range(24)]
    at = source.randrange(14, 24)
    return "\n".join([*lines[:at], text, *lines[at:]])


def narration(source: random.Random) -> str:
    """What the assistant says before a step."""
    return source.choice(_NARRATION).format(path=source.choice(_PATHS))


def summary(source: random.Random) -> str:
    """What the assistant says after one."""
    return source.choice(_SUMMARIES).format(n=source.randint(3, 400))


def tool(source: random.Random) -> tuple[str, str, dict[str, Any]]:
    """A tool call that works: its name, result and arguments."""
    path = f"/home/dev/project/{source.choice(_PATHS)}"
    ways: list[tuple[str, str, dict[str, Any]]] = [
        ("Read", "1\timport os\n2\t\n3\tdef run():\n", {"file_path": path}),
        ("Bash", "nothing to commit", {"command": source.choice(_COMMANDS)}),
        ("Grep", f"Found 2 files\n{path}", {"pattern": "def run", "path": "src"}),
        ("Edit", f"The file {path} has been updated.", {"file_path": path}),
        ("Bash", "212 passed in 8.41s", {"command": "make test"}),
    ]
    return source.choice(ways)
