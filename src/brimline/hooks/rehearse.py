"""A recorded session played to the rooms again, under the settings in force: what they would do.

A process of its own, for `session replay`: it goes by its environment, so its data folder has to
be one to throw away. The rooms see a copy of the transcript that grows row by row, in which every
request is as large as it would have been: less what was kept out, and with the compactions that
would have come. What it finds is printed as lines of JSON.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from brimline import clienttools
from brimline.fast import paths
from brimline.gauge.window import CompactionPoint
from brimline.hooks.entry import ask_rooms
from brimline.hooks.turn import Turn
from brimline.hooks.wire import Event
from brimline.offload import tool_results
from brimline.settings import config
from brimline.transcript import compactions, find, read, row, words
from brimline.transcript.read import Copies

if TYPE_CHECKING:
    from brimline.decision import Decision

# After a compaction, where the recording has none to go by.
_USUAL_POST_TOKENS = 50_000
_UNSEEN = 1 << 62
_LOADS = ("Agent", "Task", "Skill")


def main(path: str, copy: str) -> None:
    """Play a session and print what comes of it."""
    home_dir, project = paths.data_dir(), find.folder_it_began_in(path) or "/"
    config.compile_policy(home_dir, project)
    with open(copy, "ab", buffering=0) as file:
        rehearsal = Rehearsal(home_dir, project, copy, file)
        copies = Copies()
        for value in read.rows_of_file(path):
            for happening in [] if copies.is_copy(value) else rehearsal.read_row(value):
                sys.stdout.write(json.dumps(happening) + "\n")


class Rehearsal:
    """The session under other settings; `shift` is how much larger a request would be by now."""

    def __init__(self, home_dir: str, project: str, copy: str, file: Any) -> None:
        self.home_dir, self.project, self.copy, self.file = home_dir, project, copy, file
        self.scan = compactions.Scan()
        self.shift = 0
        self.resumed_at: int | None = None
        self.point = CompactionPoint(_UNSEEN, "unknown", _UNSEEN)
        self.is_chosen = False
        self.seen = _UNSEEN
        self.calls: dict[str, dict[str, Any]] = {}

    @property
    def brim_tokens(self) -> int:
        """Where it is compacted: as the user says, else where this client has done it."""
        return self.point.tokens if self.is_chosen else min(self.point.tokens, self.seen)

    def read_row(self, value: dict[str, Any]) -> list[dict[str, Any]]:
        """The next row: what happens because of it, in the words of the output."""
        if row.is_sidechain(value):
            return []
        if row.is_compaction_row(value):
            return self._keep_or_postpone_compaction(value)
        happenings: list[dict[str, Any]] = []
        for call in row.main_thread_calls(value):
            event = self.calls[call.id] = {"tool_name": call.name, "tool_input": call.arguments}
            happenings += self._ask_rooms("PreToolUse", event) if call.name in _LOADS else []
        for result in row.main_thread_results(value):
            if result.call_id in self.calls:
                event = self.calls.pop(result.call_id) | {"tool_response": result.copy}
                happenings += self._ask_rooms("PostToolUse", event)
        prompt = words.users_prompt_unless_command(value) if row.type_of(value) == "user" else ""
        if prompt:
            # Only its length counts: no command in it is to be done again.
            happenings += self._ask_rooms("UserPromptSubmit", {"prompt": "x" * len(prompt)})
        if usage := row.usage_of(value):
            return happenings + self._resize_request(value, usage)
        self._append_transcript_row(value)
        return happenings

    def _resize_request(self, value: dict[str, Any], usage: row.Usage) -> list[dict[str, Any]]:
        requests = len(self.scan.requests)
        self.scan.read_row(value)
        recorded, happenings = usage.prompt_tokens, []
        is_new = len(self.scan.requests) > requests
        if is_new and self.resumed_at is not None:
            self.shift, self.resumed_at = self.resumed_at - recorded, None
        tokens = max(1, recorded + self.shift)
        compacts = self.point.ending == "compaction" or self.seen < _UNSEEN
        # One that is no larger than recorded went through.
        is_more = self.is_chosen or self.shift > 0
        if is_new and compacts and is_more and tokens >= self.brim_tokens:
            happenings.append(
                self._happening("compacted", f"at the brim of {self.brim_tokens:,}", tokens)
            )
            self._play_compaction(row.make_auto_boundary_row(tokens))
            tokens = min(self._tokens_last_compaction_left(), tokens)
            self.shift = tokens - recorded
        if is_new:
            happenings.append(self._happening("request", "", tokens) | {"recorded": recorded})
        self._append_transcript_row(row.with_prompt_tokens(value, tokens))
        return happenings

    def _tokens_last_compaction_left(self) -> int:
        """What a compaction leaves: as much as the one before it in this session, or as usual."""
        posts = [each.post_tokens for each in self.scan.compactions if each.post_tokens]
        return [_USUAL_POST_TOKENS, *posts][-1]

    def _keep_or_postpone_compaction(self, value: dict[str, Any]) -> list[dict[str, Any]]:
        """It would have come then too, unless there would still have been room."""
        compactions = len(self.scan.compactions)
        before = self.scan.requests[-1].tokens if self.scan.requests else 0
        self.scan.read_row(value)
        if len(self.scan.compactions) == compactions:
            return []
        trigger, pre_tokens, _ = row.compaction_figures(value)
        recorded = pre_tokens or before
        if trigger == "auto":
            self.seen = recorded
        tokens = max(1, recorded + self.shift)
        brim = self.brim_tokens if self.is_chosen else min(self.brim_tokens, recorded)
        if trigger != "manual" and tokens < brim:
            self.resumed_at = tokens
            return [self._happening("postponed", f"not yet: {tokens:,} of {brim:,}", tokens)]
        self.shift, self.resumed_at = 0, None
        self._play_compaction(value)
        return [self._happening("compacted", "as recorded", tokens)]

    def _play_compaction(self, value: dict[str, Any]) -> None:
        self._append_transcript_row(value)
        self._ask_rooms("PostCompact", {"trigger": "auto", "compact_summary": ""})

    def _ask_rooms(self, name: str, fields: dict[str, Any]) -> list[dict[str, Any]]:
        """One event, put to the rooms that answer it."""
        head = {"session_id": "rehearsal", "transcript_path": self.copy, "cwd": self.project}
        payload = json.dumps(head | {"hook_event_name": name} | fields).encode("utf-8", "replace")
        turn = Turn(Event(name, payload), self.home_dir)
        decision = ask_rooms(turn)
        self.point = turn.reading.compaction
        self.is_chosen = "config" in (self.point.source, turn.reading.window.source)
        return self._happenings_of_decision(decision, turn, fields) if decision else []

    def _happenings_of_decision(
        self, made: Decision, turn: Turn, fields: dict[str, Any]
    ) -> list[dict[str, Any]]:
        happenings = []
        if made.replacement is not None:
            tool, arguments = turn.event.tool, turn.event.tool_input
            results = [
                tool_results.parse_answer(tool, arguments, response)
                for response in (fields["tool_response"], made.replacement)
            ]
            before, after = [len(result.text) if result else 0 for result in results]
            saved = (before - after) / turn.reading.known_model.characters_per_token
            self.shift -= round(saved)
            subject = " ".join(clienttools.subject_of_call(arguments).split())
            happenings.append(self._happening("offloaded", f"{tool} {subject}", round(saved)))
        if made.permission == "deny":
            happenings.append(
                self._happening("refused", made.reason, turn.reading.occupancy_tokens)
            )
        used, tier = turn.reading.occupancy_tokens, {"tier": turn.reading.tier}
        notes = (*made.model_notes, *made.person_notes)
        return happenings + [self._happening("said", note, used) | tier for note in notes]

    def _happening(self, kind: str, text: str, tokens: int | None) -> dict[str, Any]:
        return {"kind": kind, "request": len(self.scan.requests), "text": text, "tokens": tokens}

    def _append_transcript_row(self, value: dict[str, Any]) -> None:
        self.file.write(json.dumps(value).encode("utf-8", "replace") + b"\n")
