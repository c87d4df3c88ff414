"""Swaps a large tool result for a reference: decide, preview, store, mark, answer in its shape.

A preview opens an offer: the result of the same call again stays, once, among the next ten results
and while no file was changed. "Once" is a file that exactly one process can create.

A reference pays as long as the model is content with it. One that is fetched back has cost more
than it saved, so a call whose references come back again and again is left alone. What was learned
of calls is a line per event, appended and never rewritten: parallel hooks cannot lose each other's
lines, and what is older than a month is ignored. It is found by hashes; words are for people.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from brimline.bulk import judge, preview, put, stub
from brimline.bulk.marks import (
    EDITED,
    LEARNED,
    OFFER,
    TAKEN,
    state_file_text,
    was_file_edited,
)
from brimline.fast import io, json, paths
from brimline.fast.decision import Decision
from brimline.foreign import flatten
from brimline.transcript import clienttools

if TYPE_CHECKING:
    from collections.abc import Iterator

    from brimline.bulk.tool_results import ToolResult
    from brimline.hooks.turn import Turn

_SOURCE_CHARACTERS = 60
_WAS_PREVIEWED = (
    " was shown to you as a preview, so this Write would replace lines that you have not seen. "
    "Read the file again (it comes whole now) or change it with Edit. "
    "If replacing all of it is what you want, repeat the Write: it passes."
)
# Hashes of the session's project, and of the tool with what its call is remembered by.
# What is learned of a call: its output was replaced, stayed, or was recalled.
_STUB, _STAYED, _RECALL = "stub", "stayed", "recall"
# And: the user took it back.
UNDONE = "undone"
_EXPIRY_S = 30 * 86_400
_DIGITS = 12
_WORDS_CHARACTERS = 80
# So many of the last stubs that came back make the results of a call stay in its project.
_CAME_BACK, _OF_THE_LAST = 3, 5
# Of large outputs that stay, every fifth is replaced all the same: else nothing could ever change.
_PROBE_EVERY = 5


class Call(io.Record):
    """What experience is kept under: hashes of the project and of the call; and both in words."""

    project: str
    call: str
    words: str = ""
    folder: str | None = None


def decide_on_result(turn: Turn, result: ToolResult) -> Decision | None:
    """Answer a result of a known shape that may be large: a reference in its place, or nothing.

    The questions, in their order; with the first yes the result stays. Before all of them the
    client's own event tells whether it is a subagent's, and `hook` whether it can be large.

    1. Is its shape unknown? (`tool_results.parse_answer`)
    2. Does it come from us? (`judge.recalls_asked_by_call`)
    3. Is replacing switched off?
    4. Do the user's own lists name it? `offload.never` is a yes, `offload.always` skips 5 to 8.
    5. Is it too small for its kind: bulk, or content? (`kinds.kind_of_output`)
    6. Is it a page of a file, a file of settings or instructions, one that the session edited, a
       brief or interactive command, or one that failed?
    7. Does experience say that its references always come back? (`is_always_recalled`)
    8. Could the model not get at it: no rule allows our recall, and the call is not one to repeat?
    9. Is it the same call again, right after its preview? (`_claim_repeat_offer`)
    10. Would a reference save too little? (`judge.is_preview_worth_it`)
    """
    event = turn.event
    if judge.recalls_asked_by_call(event.tool, event.tool_input) is not None:
        _note_recall(turn, result)
        return None
    arrival = _Arrival(turn, result)
    decision = None if arrival.must_stay() else arrival.replace_by_reference()
    if decision is None:
        arrival.note_shown_lines()
    return decision


class _Arrival:
    """A result on its way into the window, and the session that it comes into."""

    def __init__(self, turn: Turn, result: ToolResult) -> None:
        event = turn.event
        self.turn, self.result, self.tool = turn, result, event.tool
        self.size_bytes = len(result.data)
        sent_bytes = self.size_bytes + result.numbering_bytes
        self.case = case = judge.Case(event.tool, event.tool_input, result.text, sent_bytes)
        case.failed = result.failed
        # A command's output is whole, or in the file that the client keeps it in.
        case.is_cut = result.was_persisted
        if event.tool != "Bash":
            case.is_cut |= len(result.text) > clienttools.characters_shown_whole(event.tool)
        # How many characters the client shows of the result by itself.
        self.client_shown = clienttools.PERSISTED_CHARACTERS if case.is_cut else len(result.text)
        agent = str(event.agent_id or "")
        self.call = repeat_fingerprint(turn, agent, event.tool, event.tool_input, case.files)
        main = case.line.main if case.line else None
        pattern = main.pattern if main else judge.pattern_for_learning(event.tool, result.subject)
        self.learned_as = _name_call(turn.project, event.tool, pattern)
        only_reads = case.line.only_reads if case.line else event.tool in clienttools.LOOKING_UP
        self.may_repeat = only_reads and not case.is_cut

    def must_stay(self) -> bool:
        """Ask all but whether a reference saves enough, which `replace_by_reference` asks."""
        turn, values = self.turn, self.turn.values
        if values["offload.preset"] == "off":
            return True
        rules = judge.Rules(*[values[f"offload.{name}"] for name in judge.Rules._fields])
        if self.case.sent_bytes >= rules.read_bytes and turn.reading.window.is_verified:
            window_tokens = turn.reading.compaction.effective_window_tokens
            rules = judge.rules_for_window(rules, window_tokens)
        verdict = judge.judge(self.case, rules, lambda path: was_file_edited(turn, path))
        if verdict.reason:
            return True
        if not verdict.is_listed:
            if is_always_recalled(turn.home, self.learned_as):
                # That a result stayed is experience too.
                _append_learned_event(turn.home, _STAYED, self.learned_as, self.size_bytes)
                return True
            is_in_reach = self.may_repeat or turn.policy.client.get("recall_allowed")
            if not is_in_reach and turn.event.permission_mode != "bypassPermissions":
                return True
        return self._claim_repeat_offer()

    def _claim_repeat_offer(self) -> bool:
        """Take the offer that the same call again stays, which only one can; False without one."""
        if self.case.is_cut:
            return False
        turn = self.turn
        offers = [name for name in turn.state.names if name.startswith(f"{OFFER}{self.call}-")]
        taken = [f"{turn.state.folder}/{TAKEN}{name[len(OFFER) :]}" for name in offers]
        if not any(io.create_exclusively(path, b"") for path in taken):
            return False
        _append_learned_event(turn.home, _RECALL, self.learned_as)
        turn.spool_event("Recalled", tool=self.tool, shown=self.client_shown)
        return True

    def replace_by_reference(self) -> Decision | None:
        """Make the reference, unless it would save too little."""
        turn, case, tool = self.turn, self.case, self.tool
        shown = preview.make_preview(case, self.result.subject)
        if not judge.is_preview_worth_it(case, shown):
            return None
        meta = {"tool": tool, "source": self.result.subject or None, "exit": self.result.exit_code}
        meta |= {"session": turn.state.session_id, "cwd": turn.event.cwd}
        key = put.put(turn.home, self.result.data, meta)
        if tool == "Read":
            from brimline.bulk import looks

            looks.note_preview_of_file(turn, self.result.subject)
        # A parallel twin that was first shows the preview, and this is its repetition.
        while not case.is_cut and not create_repeat_offer(turn, self.call):
            if self._claim_repeat_offer():
                return None
        size, would = self.size_bytes, self.client_shown
        _append_learned_event(turn.home, _STUB, self.learned_as, size, key)
        text = self._make_reference_text(key, shown)
        told = {"tool": tool, "key": key, "bytes": size, "would": would, "shown": len(text)}
        lines = text.split("\n")
        # By these `previews` knows it again.
        told |= {"call": turn.event.call_id, "lines": len(lines)}
        turn.spool_event("Offloaded", **told, text=put.fingerprint_of_lines(lines))
        return Decision(replacement=self.result.replaced(text))

    def note_shown_lines(self) -> None:
        """Note which lines of a file a result that stays has shown."""
        if self.tool == "Read" and self.result.lines:
            from brimline.bulk import looks

            looks.note_lines_shown(self.turn, self.result.subject, self.result.lines)

    def _make_reference_text(self, key: str, shown: str) -> str:
        """Make what the model gets instead: what it was, its preview, how to get the rest."""
        result, is_file = self.result, self.tool == "Read"
        source = flatten(result.subject, _SOURCE_CHARACTERS, keep_end=is_file) or None
        size, lines = self.size_bytes, self.case.source.total
        stored = stub.Stub(key, size, lines, result.exit_code, tool=self.tool, source=source)
        also = ["Read takes offset and limit."] if is_file else []
        also += ["The same call again shows all of it once."] if self.may_repeat else []
        rest = stub.how_to_get_the_rest_text(key, self._command_if_needed(), *also)
        return preview.reference_with_preview_text(stored, result.note, shown, rest)

    def _command_if_needed(self) -> str:
        """How the installer noted that our command is started, where `recall` may not be there."""
        if self.turn.policy.client.get("recall_allowed"):
            return ""
        try:
            noted = io.read_file(paths.command_file(self.turn.home), 4_096)
        except OSError:
            return "brimline"
        return noted.decode("utf-8", "replace").strip() or "brimline"


def is_always_recalled(home_dir: str, call: Call) -> bool:
    """Tell whether experience lets the next large output of a call stay; every fifth does not.

    Raises:
        OSError: the file is there and cannot be read.
    """
    stubs: list[dict[str, Any]] = []
    stayed = 0
    for line in _learned_events_of_call(home_dir, call):
        size, key = line["bytes"], line.get("key")
        if line["kind"] == _RECALL:
            _tally_recall_by_stub(stubs, key, size)
        elif line["kind"] == _STAYED:
            stayed += 1
        elif line["kind"] == UNDONE:
            stubs, stayed = [], 0
        else:
            stayed = 0
            stubs.append({"key": key, "bytes": size or 0, "recalled": 0})
    # One of which half came back did not pay.
    lately = stubs[-_OF_THE_LAST:]
    came_back = [each for each in lately if 0 < each["bytes"] <= 2 * each["recalled"]]
    return len(came_back) >= _CAME_BACK and stayed < _PROBE_EVERY - 1


def _learned_events_of_call(home_dir: str, call: Call) -> Iterator[dict[str, Any]]:
    """Return the events of a call within a month."""
    same_project, same_call, now = call.project, call.call, time.time()
    for path in (f"{home_dir}/{LEARNED}.old", f"{home_dir}/{LEARNED}"):
        for line in json.read_lines(path, containing=same_call.encode()):
            # A key says whose stub is meant, also where it is asked for from another folder.
            has_key = line.get("kind") == _RECALL and line.get("key")
            if not has_key and line.get("project") != same_project:
                continue
            at = line.get("at")
            if isinstance(at, int | float) and abs(now - at) <= _EXPIRY_S:
                yield line


def _tally_recall_by_stub(stubs: list[dict[str, Any]], key: str | None, size: int | None) -> None:
    """Count what came back for the last output that is meant: by its key, or not fetched yet."""
    for each in reversed(stubs):
        if each["key"] == key if key else not each["recalled"]:
            each["recalled"] += each["bytes"] if size is None else size
            return


def _append_learned_event(
    home_dir: str, kind: str, call: Call, size: int | None = None, key: str | None = None
) -> None:
    """Remember an event: a large output that was replaced or stayed, or one that was recalled.

    Args:
        home_dir: the data folder.
        kind: one of the three above.
        call: what it is remembered as.
        size: of the output in bytes; how much came back, where None means all of it.
        key: of the stub; for a recall without it the latest one of the call is meant.

    Raises:
        OSError: the line cannot be written.
    """
    from brimline.masking import mask

    line = {
        "at": time.time(),
        "kind": kind,
        "bytes": size,
        "project": call.project,
        "call": call.call,
    }
    line |= {"words": mask(call.words)[:_WORDS_CHARACTERS], "folder": call.folder}
    line |= {"key": key.removeprefix("sha256:")[:_DIGITS]} if key else {}
    json.append_line(f"{home_dir}/{LEARNED}", line)


def _name_call(project: str | None, tool: str, pattern: str) -> Call:
    """Return what experience with a call is kept under: its project; its tool and pattern."""
    texts = json.dumps(project), json.dumps([tool, pattern])
    project_hash, call_hash = [put.sha256(text.encode())[: 2 * _DIGITS] for text in texts]
    words = pattern if pattern.startswith((tool, "WebFetch")) else f"{tool} {pattern}"
    return Call(project=project_hash, call=call_hash, words=words, folder=project)


def repeat_fingerprint(
    turn: Turn, agent: str, tool: str, tool_input: dict[str, Any], files: list[str]
) -> str:
    """Return what has to be the same for a call to be the same again.

    Who makes it, what goes into it, and the state of the files that it shows; where it names
    none, how many changes there were to any.
    """
    arguments = {key: tool_input[key] for key in sorted(tool_input) if key != "description"}
    path = arguments.get("file_path")
    if tool == "Read" and isinstance(path, str):
        arguments["file_path"] = paths.resolve_links(path, turn.event.cwd)
    state = []
    for file in files:
        try:
            status = io.system.stat(io.path_bytes(paths.normalised_path(file, turn.event.cwd)))
        except (OSError, ValueError):
            continue
        state.append([status.st_mtime_ns, status.st_size])
    if not state and EDITED in turn.state.names:
        state = [[state_file_text(turn, EDITED).count("\n")]]
    return paths.path_fingerprint(json.dumps([agent, tool, arguments, state]))


def create_repeat_offer(turn: Turn, call: str) -> bool:
    """Offer that the same call again stays, once; False where a parallel twin was first."""
    start = f"{OFFER}{call}-"
    numbers = [name[len(start) :] for name in turn.state.names if name.startswith(start)]
    name = f"{start}{max(map(int, numbers), default=0) + 1}"
    turn.state.names.append(name)  # whoever makes it, it is there now
    return io.create_exclusively(f"{turn.state.folder}/{name}", b"")


def refuse_unseen_overwrite(turn: Turn) -> Decision | None:
    """Refuse an overwrite, once, of a file that the model has seen as a preview only."""
    from brimline.bulk import looks

    path = turn.event.tool_input.get("file_path")
    if not isinstance(path, str) or not looks.claim_overwrite_refusal(turn, path):
        return None
    # However long ago the preview was: who is told to read the file again shall see it.
    call = repeat_fingerprint(turn, "", "Read", {"file_path": path}, [path])
    create_repeat_offer(turn, call)
    return Decision(permission="deny", reason=flatten(path, keep_end=True) + _WAS_PREVIEWED)


def _note_recall(turn: Turn, result: ToolResult) -> None:
    """Note that the model fetched stored content: whose it was, and how much of it."""
    from brimline.bulk import looks

    event = turn.event
    recalled = looks.recalls_shown_by_call(turn.home, event.tool, event.tool_input, result)
    for key, meta, size in recalled:
        tool = str(meta.get("tool") or "")
        pattern = judge.pattern_for_learning(tool, meta.get("source"))
        call = _name_call(turn.project, tool, pattern)
        _append_learned_event(turn.home, _RECALL, call, size, key)
        turn.spool_event("Recalled", tool=tool, key=key, shown=size)
