"""Swaps a large tool result for a reference: decide, preview, store, mark, answer in its shape."""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING, Any

from brimline.decision import Decision
from brimline.fast import io, paths
from brimline.offload import commands, kinds, learning, looks, preview, tool_results
from brimline.offload.hook import LARGE_BYTES, PINS_WAIT
from brimline.store import put, stub

if TYPE_CHECKING:
    from brimline.hooks.turn import Turn
    from brimline.offload.preview import Preview
    from brimline.offload.tool_results import ToolResult

# Of several tokenizers the one that finds fewest tokens in a text: savings are not overstated.
CHARACTERS_PER_TOKEN = 2.85
# The never-worse guard: what a reference has to save of the text.
_LEAST_TOKENS, _LEAST_SHARE = 1_000, 0.5
# What a reference takes beside its preview.
_FRAME_CHARACTERS = 400
_CONFIGURATION_BYTES = 100_000
_OUR_MARK = "[brimline"
_SOURCE_CHARACTERS = 60
_REPEATABLE = ("Read", "Grep", "Glob")
_PREVIEWED_TOOLS = (*_REPEATABLE, "Bash", "WebFetch", "WebSearch", "Agent", "Task")
_PAGE = ("offset", "limit", "pages")


def after(turn: Turn) -> Decision | None:
    """What becomes of a result that may be large: a reference in its place, or nothing.

    The questions, in their order; the first that says so lets the result pass. Before all of them
    the client's own event tells whether it is a subagent's, and `hook` whether it can be large.

    1. Is its shape unknown? (`tool_results.find`)
    2. Does it come from us? (`commands.fetches`)
    3. Is replacing switched off?
    4. Do the user's own lists name it? `offload.never` passes, `offload.always` skips 5 to 8.
    5. Is it too small for its kind: bulk, or content? (`kinds.kind_of`, `kinds.least_bytes`)
    6. Is it a page of a file, a file of settings or instructions, one that the session edited, a
       brief or interactive command, or one that failed?
    7. Does experience say that its references always come back? (`learning.passes`)
    8. Could the model not get at it: no rule allows our recall, and the call is not one to repeat?
    9. Is it the same call again, right after its preview? (`looks.claim_repeat`)
    10. Would a reference save too little?
    """
    event = turn.event
    found = tool_results.find(event.tool, event.tool_input, event.tool_response)
    if found is None:
        return None
    if commands.is_our_tool(event.tool) or commands.fetches(event.tool, event.tool_input):
        _note_recall(turn, found)
        return None
    case = _Case(turn, found)
    if event.tool in ("Read", "Bash") and not case.looks.knows_the_past:
        from brimline.offload import past

        past.take_over(turn, case.looks)
    swapped = None if case.passes() else case.swap()
    if swapped is None:
        case.note_passing()
    return swapped


def before_write(turn: Turn) -> Decision | None:
    """Whether an overwrite is refused because the model has seen a preview of the file only."""
    path = turn.event.tool_input.get("file_path")
    if not isinstance(path, str):
        return None
    seen = looks.Looks(turn.state, turn.event.cwd)
    if not seen.knows_the_past:
        from brimline.offload import past

        past.take_over(turn, seen, waits=True)
    if seen.claim_warning(path):
        # However long ago the preview was: who is told to read the file again shall see it.
        seen.offer(seen.call_name("", "Read", {"file_path": path}), "")
        return Decision(permission="deny", reason=looks.refusal(path))
    return None


class _Case:
    """A result on its way into the window, and all that is needed to decide about it."""

    def __init__(self, turn: Turn, found: ToolResult) -> None:
        event = turn.event
        self.turn = turn
        self.found = found
        self.tool = event.tool
        self.looks = looks.Looks(turn.state, event.cwd)
        self.command = commands.read(found.subject) if event.tool == "Bash" else None
        self.files = self.command.files if self.command else []
        self.files = [found.subject] if event.tool == "Read" else self.files
        self.source = preview.Source(found.text)
        self.kind = kinds.kind_of(
            found.text, self.source.lines, event.tool, self.files, self.command
        )
        self.call = self.looks.call_name(str(event.agent_id or ""), event.tool, event.tool_input)
        self.stamp = self.looks.stamp(self.files)
        main = self.command.main if self.command else None
        pattern = main.pattern if main else commands.pattern_of(event.tool, found.subject)
        self.learned_as = (turn.project, event.tool, pattern)
        reads = self.command is not None and self.command.only_reads
        self.may_repeat = reads or event.tool in _REPEATABLE

    def passes(self) -> bool:
        """The answers to questions 3 to 9."""
        values, text = self.turn.values, self.found.text
        if values["offload.preset"] == "off" or text.startswith(_OUR_MARK):
            return True
        if not self.tool.startswith(("mcp__", *_PREVIEWED_TOOLS)):
            return True
        never, always = values["offload.never"], values["offload.always"]
        if never and self._is_named(never):
            return True
        always = bool(always) and self._is_named(always)
        bulk, content = values["offload.inline_bytes"], values["offload.read_bytes"]
        least = bulk if always else kinds.least_bytes(self.kind, self.source.total, bulk, content)
        # Of a huge text nobody counts the bytes: the characters do.
        is_plain = text.isascii() or len(text) > _CONFIGURATION_BYTES
        size = len(text) if is_plain else len(text.encode("utf-8", "surrogatepass"))
        # The sources keep a file of exactly 25,000 bytes out, and leave 2,000 bytes of output in.
        if size < least + (self.tool != "Read"):
            return True
        return (not always and self._is_spared()) or self._is_repeated()

    def _is_named(self, patterns: list[str]) -> bool:
        """Whether the user's list holds the tool, the file or the command."""
        for pattern in patterns:
            texts = [self.tool, *self.files, *([self.found.subject] if self.command else [])]
            if any(
                fnmatch.fnmatchcase(text, form)
                for text in texts
                for form in (pattern, f"*/{pattern}")
            ):
                return True
            wanted = pattern.split()
            for command in self.command.pipelines if self.command else []:
                for words in ([one.program, *one.words[1:]][: len(wanted)] for one in command):
                    if len(words) == len(wanted) and all(map(fnmatch.fnmatchcase, words, wanted)):
                        return True
        return False

    def _is_spared(self) -> bool:
        """The answers to questions 6 to 8."""
        turn, event, found = self.turn, self.turn.event, self.found
        if self.tool == "Read" and any(event.tool_input.get(key) is not None for key in _PAGE):
            return True
        if any(kinds.is_never_text(file) or self.looks.was_edited(file) for file in self.files):
            return True
        if len(found.text) <= _CONFIGURATION_BYTES and any(map(kinds.is_configuration, self.files)):
            return True
        if self.command:
            failed = found.exit_code is None or kinds.is_failing(found.text, self.command)
            # Of what the client itself cuts to its beginning, a preview shows more.
            if self.command.is_exempt or (failed and not found.was_persisted):
                return True
        if learning.passes(turn.home, self.learned_as):
            learning.note(turn.home, learning.PASSED, self.learned_as, len(found.text))
            return True
        bypassed = event.payload.get("permission_mode") == "bypassPermissions"
        return not (turn.policy.client.get("recall_allowed") or bypassed or self.may_repeat)

    def _is_repeated(self) -> bool:
        if not self.looks.claim_repeat(self.call, self.stamp):
            return False
        learning.note(self.turn.home, learning.RECALL, self.learned_as)
        self.turn.note("Recalled", tool=self.tool, shown=len(self.found.text))
        return True

    def swap(self) -> Decision | None:
        """The answer to question 10, and the reference where it is no."""
        turn, found, text = self.turn, self.found, self.found.text
        shown = preview.make_preview(text, self.source, self.kind, self.tool, found.subject)
        saved = len(text) - len(shown.text) - _FRAME_CHARACTERS
        # The preview of a diff shows what there is to see, so that less need be saved.
        share = 0.0 if self.kind == kinds.DIFF else _LEAST_SHARE
        if saved < max(_LEAST_TOKENS * CHARACTERS_PER_TOKEN, len(text) * share):
            return None
        meta = self._store()
        key, size = meta["key"], meta["bytes"]
        if self.tool == "Read":
            total = found.lines[2] if found.lines else self.source.total
            self.looks.note_preview(found.subject, key, total)
        # A parallel twin that was first shows the preview, and this is its repetition.
        while not self.looks.offer(self.call, self.stamp):
            if self._is_repeated():
                return None
        learning.note(turn.home, learning.STUB, self.learned_as, size, key)
        given = reference(meta, shown, found.note, program(turn.home), repeats=self.may_repeat)
        would = tool_results.shown_characters(found, self.tool)
        turn.note("Offloaded", tool=self.tool, key=key, bytes=size, would=would, shown=len(given))
        return Decision(replacement=found.replaced(given))

    def note_passing(self) -> None:
        """What is noted of a result that stays: lines of a file, content for a pin that waits."""
        found = self.found
        if self.tool == "Read" and found.lines:
            self.looks.note_lines(found.subject, found.lines)
        if PINS_WAIT in self.turn.state.names and len(found.text) >= LARGE_BYTES:
            self._store()

    def _store(self) -> dict[str, Any]:
        """Keep the content, pinned where that waits; returns what a reference tells about it."""
        turn, content = self.turn, self.found.content()
        meta = {
            "tool": self.tool,
            "source": self.found.subject or None,
            "exit": self.found.exit_code,
            "session": turn.state.session_id,
            "cwd": turn.event.cwd,
        }
        key = put.put(turn.home, content, meta)
        if PINS_WAIT in turn.state.names:
            from brimline.offload import pinning

            pinning.on_result(key, turn.state, turn.home)
        return meta | {"key": key, "bytes": len(content), "lines": put.count_lines(content)}


def _note_recall(turn: Turn, found: ToolResult) -> None:
    """The model fetched stored content: whose it was, and how much of it."""
    from brimline.offload import recalls

    seen = looks.Looks(turn.state, turn.event.cwd)
    for fetched in recalls.fetched(turn, turn.event.tool, turn.event.tool_input, found):
        if fetched.lines:
            seen.note_recalled(fetched.key, *fetched.lines)
        tool = str(fetched.meta.get("tool") or "")
        pattern = commands.pattern_of(tool, fetched.meta.get("source"))
        size, key = fetched.shown_bytes, fetched.key
        learning.note(turn.home, learning.RECALL, (turn.project, tool, pattern), size, key)
        turn.note("Recalled", tool=tool, key=key, shown=size)


def reference(
    meta: dict[str, Any], shown: Preview, note: str, program: str, *, repeats: bool
) -> str:
    """What the model gets instead of the output: what it was, its preview, how to get the rest."""
    source = " ".join(str(meta.get("source") or "").split())
    if len(source) > _SOURCE_CHARACTERS:
        # A path tells most at its end, a command at its beginning.
        room = _SOURCE_CHARACTERS - 1
        source = "…" + source[-room:] if meta.get("tool") == "Read" else source[:room] + "…"
    told = stub.Stub(
        *(meta["key"], meta["bytes"], meta["lines"]),
        exit_code=meta["exit"],
        tool=meta["tool"],
        source=source or None,
    )
    first = stub.build(told)
    legend = '("A-B: x … y": line A, then names in the lines left out up to B.) '
    ways = ", recall with this key"
    ways += ", Read with offset and limit" if meta.get("tool") == "Read" else ""
    ways += ", or the same call again, which shows all of it once" if repeats else ""
    rest = (legend if shown.numbered else "") + stub.way_back(meta["key"], program, ways)
    parts = [f"{first} Preview, not the whole:", note, shown.text, rest]
    text = "\n".join(part for part in parts if part)
    return text.encode("utf-8", "replace").decode()  # half of a surrogate pair cannot be sent


def program(home_dir: str) -> str:
    """How the model starts our command: by name where the shell finds it, else as installed."""
    for folder in (io.env("PATH") or "").split(":"):
        try:
            if folder and io.system.access(io.to_bytes(f"{folder}/brimline"), io.system.X_OK):
                return "brimline"
        except (OSError, ValueError):
            continue
    try:
        noted = io.read_file(paths.command_file(home_dir), 4_096)
    except OSError:
        return "brimline"
    return noted.decode("utf-8", "replace").strip() or "brimline"
