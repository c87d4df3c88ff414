"""Swaps a large tool result for a reference: decide, preview, store, mark, answer in its shape."""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING

from brimline.decision import Decision
from brimline.fast import io, paths
from brimline.foreign import flatten
from brimline.models import MOST_CHARACTERS_PER_TOKEN
from brimline.offload import kinds, learning, looks, preview, programs, tool_results
from brimline.offload.hook import LARGE_BYTES, PAST, PINS_WAIT
from brimline.store import put, stub

if TYPE_CHECKING:
    from brimline.hooks.turn import Turn
    from brimline.offload.tool_results import ToolResult

# The never-worse guard: what a reference has to save of the text.
_LEAST_TOKENS, _LEAST_SHARE = 1_000, 0.5
# What a reference takes beside its preview.
_FRAME_CHARACTERS = 400
# What the client shows of a result that it keeps in a file by itself.
_CLIENT_PREVIEW_CHARACTERS = 2_300
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
    2. Does it come from us? (`programs.fetches`)
    3. Is replacing switched off?
    4. Do the user's own lists name it? `offload.never` passes, `offload.always` skips 5 to 8.
    5. Is it too small for its kind: bulk, or content? (`kinds.kind_of`)
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
    if programs.fetches(event.tool, event.tool_input) is not None:
        _note_recall(turn, found)
        return None
    if PAST not in turn.state.names and event.tool in ("Read", "Bash"):
        looks.take_over(turn)
    case = _Case(turn, found)
    swapped = None if case.passes() else case.swap()
    if swapped is None:
        case.note_passing()
    return swapped


def before_write(turn: Turn) -> Decision | None:
    """Whether an overwrite is refused because the model has seen a preview of the file only."""
    path = turn.event.tool_input.get("file_path")
    if not isinstance(path, str):
        return None
    if PAST not in turn.state.names:
        looks.take_over(turn, waits=True)
    if looks.claim_warning(turn, path):
        # However long ago the preview was: who is told to read the file again shall see it.
        looks.offer(turn, looks.call_name(turn, "", "Read", {"file_path": path}, [path]))
        return Decision(permission="deny", reason=looks.refusal(path))
    return None


class _Case:
    """A result on its way into the window, and all that is needed to decide about it."""

    def __init__(self, turn: Turn, found: ToolResult) -> None:
        self.turn = turn
        self.found = found
        self.tool = tool = turn.event.tool
        self.line = programs.read(found.subject) if tool == "Bash" else None
        self.files = self.line.files if self.line else [found.subject] if tool == "Read" else []
        self.source = preview.Source(found.text)
        self.kind = kinds.kind_of(found.text, self.source.lines, tool, self.files, self.line)
        agent = str(turn.event.agent_id or "")
        self.call = looks.call_name(turn, agent, tool, turn.event.tool_input, self.files)
        main = self.line.main if self.line else None
        pattern = main.pattern if main else programs.pattern_of(tool, found.subject)
        self.learned_as = (turn.project, tool, pattern)
        most = preview.CLIENT_SHOWS_CHARACTERS.get(tool, tool_results.MCP_CHARACTERS)
        # Whether the client would show no more than its beginning, now and when it is repeated.
        is_long = tool not in ("Bash", "Read") and len(found.text) > most
        self.is_cut = found.was_persisted or is_long
        only_reads = self.line.only_reads if self.line else tool in _REPEATABLE
        self.may_repeat = only_reads and not self.is_cut

    def passes(self) -> bool:
        """The answers to questions 3 to 9."""
        values = self.turn.values
        if values["offload.preset"] == "off" or self.found.text.startswith(_OUR_MARK):
            return True
        if not self.tool.startswith(("mcp__", *_PREVIEWED_TOOLS)):
            return True
        never, always = values["offload.never"], values["offload.always"]
        if never and self._is_named(never):
            return True
        always = bool(always) and self._is_named(always)
        is_bulk = always or self.kind in kinds.BULK
        if is_bulk or (self.kind == kinds.FOUND and self.source.total >= kinds.FEWEST_HITS):
            least = min(values["offload.inline_bytes"], values["offload.read_bytes"])
        else:
            least = values["offload.read_bytes"]
        # The sources keep a file of exactly 25,000 bytes out, and leave 2,000 bytes of output in.
        if len(self.found.data) < least + (self.tool != "Read"):
            return True
        return (not always and self._is_spared()) or self._is_repeated()

    def _is_named(self, patterns: list[str]) -> bool:
        """Whether the user's list holds the tool, the file or the command."""
        texts = [self.tool, *self.files, *([self.found.subject] if self.line else [])]
        commands = self.line.commands if self.line else []
        for pattern in patterns:
            forms = (pattern, f"*/{pattern}")
            if any(fnmatch.fnmatchcase(text, form) for text in texts for form in forms):
                return True
            wanted = pattern.split()
            for words in ([one.program, *one.words[1:]][: len(wanted)] for one in commands):
                if len(words) == len(wanted) and all(map(fnmatch.fnmatchcase, words, wanted)):
                    return True
        return False

    def _is_spared(self) -> bool:
        """The answers to questions 6 to 8."""
        turn, found, asked = self.turn, self.found, self.turn.event.tool_input
        if self.tool == "Read" and any(asked.get(key) is not None for key in _PAGE):
            return True
        if any(looks.was_edited(turn, file) for file in self.files):
            return True
        if len(found.data) <= _CONFIGURATION_BYTES and any(map(kinds.is_configuration, self.files)):
            return True
        if self.line:
            if self.line.is_exempt:
                return True
            # Of what the client itself cuts to its beginning, a preview shows more.
            if not found.was_persisted and (
                found.exit_code is None
                or (self.line.ran_something and kinds.says_failure(found.text))
            ):
                return True
        if learning.passes(turn.home, self.learned_as):
            learning.note(turn.home, learning.PASSED, self.learned_as, len(found.data))
            return True
        bypassed = turn.event.payload.get("permission_mode") == "bypassPermissions"
        return not (turn.policy.client.get("recall_allowed") or bypassed or self.may_repeat)

    def _is_repeated(self) -> bool:
        if self.is_cut or not looks.claim_repeat(self.turn, self.call):
            return False
        learning.note(self.turn.home, learning.RECALL, self.learned_as)
        self.turn.note("Recalled", tool=self.tool, shown=self._shown_by_client())
        return True

    def _shown_by_client(self) -> int:
        """How many characters the client shows of the result by itself."""
        return _CLIENT_PREVIEW_CHARACTERS if self.is_cut else len(self.found.text)

    def swap(self) -> Decision | None:
        """The answer to question 10, and the reference where it is no."""
        turn, found, tool, length = self.turn, self.found, self.tool, len(self.found.text)
        shown = preview.make_preview(found.text, self.source, self.kind, tool, found.subject)
        saved = length - len(shown) - _FRAME_CHARACTERS
        # The preview of a diff shows what there is to see, so that less need be saved.
        share = 0.0 if self.kind == kinds.DIFF else _LEAST_SHARE
        if saved < max(_LEAST_TOKENS * MOST_CHARACTERS_PER_TOKEN, length * share):
            return None
        key, size = self._store(), len(found.data)
        if tool == "Read":
            total = found.lines[2] if found.lines else self.source.total
            looks.note_preview(turn, found.subject, key, total)
        # A parallel twin that was first shows the preview, and this is its repetition.
        while not self.is_cut and not looks.offer(turn, self.call):
            if self._is_repeated():
                return None
        learning.note(turn.home, learning.STUB, self.learned_as, size, key)
        given = self._reference(key, shown)
        would = self._shown_by_client()
        turn.note("Offloaded", tool=tool, key=key, bytes=size, would=would, shown=len(given))
        return Decision(replacement=found.replaced(given))

    def note_passing(self) -> None:
        """What is noted of a result that stays: lines of a file, content for a pin that waits."""
        found = self.found
        if self.tool == "Read" and found.lines:
            looks.note_lines(self.turn, found.subject, found.lines)
        if PINS_WAIT in self.turn.state.names and len(found.data) >= LARGE_BYTES:
            self._store()

    def _store(self) -> str:
        """Keep the content, pinned where that waits; returns its key."""
        turn, found = self.turn, self.found
        meta = {
            "tool": self.tool,
            "source": found.subject or None,
            "exit": found.exit_code,
            "session": turn.state.session_id,
            "cwd": turn.event.cwd,
        }
        key = put.put(turn.home, found.data, meta)
        if PINS_WAIT in turn.state.names:
            from brimline.offload import pinning

            pinning.on_result(key, turn.state, turn.home)
        return key

    def _reference(self, key: str, shown: str) -> str:
        """What the model gets instead: what it was, its preview, how to get the rest."""
        found, is_file = self.found, self.tool == "Read"
        source = flatten(found.subject, _SOURCE_CHARACTERS, keep_end=is_file)
        told = stub.Stub(
            *(key, len(found.data), self.source.total, found.exit_code),
            tool=self.tool,
            source=source or None,
        )
        ways = ", recall with this key"
        ways += ", Read with offset and limit" if is_file else ""
        ways += ", or the same call again, which shows all of it once" if self.may_repeat else ""
        rest = stub.way_back(key, _program(self.turn.home), ways)
        parts = [f"{stub.build(told)} Preview, not the whole:", found.note, shown, rest]
        text = "\n".join(part for part in parts if part)
        return text.encode("utf-8", "replace").decode()  # half of a surrogate pair cannot be sent


def _program(home_dir: str) -> str:
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


def _note_recall(turn: Turn, found: ToolResult) -> None:
    """The model fetched stored content: whose it was, and how much of it."""
    event = turn.event
    for key, meta, size, lines in looks.fetched(turn.home, event.tool, event.tool_input, found):
        looks.note_recalled(turn, key, lines)
        tool = str(meta.get("tool") or "")
        call = (turn.project, tool, programs.pattern_of(tool, meta.get("source")))
        learning.note(turn.home, learning.RECALL, call, size, key)
        turn.note("Recalled", tool=tool, key=key, shown=size)
