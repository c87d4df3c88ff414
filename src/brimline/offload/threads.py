"""What the results of one thread did to its context: stubs kept out, recalls brought back. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from brimline.gauge.composition import estimate_tokens
from brimline.gauge.reading import characters_per_token
from brimline.offload import replaced
from brimline.offload.accounts import Account
from brimline.transcript.pieces import Piece

if TYPE_CHECKING:
    from brimline.offload.exchanges import Call, Moment, Result


@dataclass(slots=True)
class Change:
    """What one result did to the context: a stub, or a recall."""

    call_id: str
    account: Account


class Thread:
    """The calls of one thread that wait for a result, and the files it knows as a preview."""

    def __init__(self) -> None:
        self.model: str | None = None
        self.calls: dict[str, Call] = {}
        self.answered: set[str] = set()
        self.previewed: dict[str, int] = {}
        """Characters of each file that a stub kept out and nothing has brought back yet."""

    def expect(self, moment: Moment) -> None:
        """Note a reply: the model that made it, and its calls."""
        if moment.usage:
            self.model = moment.usage.model or self.model
        self.calls.update({call.call_id: call for call in moment.calls})

    def is_new(self, result: Result) -> bool:
        """Whether a result was not there before; asked once for each."""
        if not result.call_id or result.call_id in self.answered:
            return False
        self.answered.add(result.call_id)
        return True

    def change(self, result: Result, bash_characters: int) -> Change | None:
        """What a result did; None where it is an answer like any other."""
        call = self.calls.pop(result.call_id, None)
        if call and replaced.is_recall(call):
            return Change(result.call_id, self._recalled(call, result))
        found = replaced.find(result, call)
        if found:
            ratio = characters_per_token(self.model)
            shown = replaced.shown(found, result, ratio, bash_characters)
            if found.tool == "Read" and call:
                self.previewed[call.subject] = shown.characters
            return Change(result.call_id, _kept_out(found, result, shown, ratio))
        if call and call.tool == "Read" and self.previewed.get(call.subject):
            return Change(result.call_id, self._read_again(call, result))
        return None

    def _recalled(self, call: Call, result: Result) -> Account:
        """A recall costs its call as well as its answer."""
        asked = Piece("tool_input", call.characters)
        answered = Piece("tool_result", result.characters)
        tokens = estimate_tokens(asked, self.model) + estimate_tokens(answered, self.model)
        return Account(recalls=1, recalled_bytes=result.size_bytes, recalled_tokens=tokens)

    def _read_again(self, call: Call, result: Result) -> Account:
        """Count looks at a file until they have shown as much as the stub had kept out."""
        back = min(self.previewed[call.subject], result.characters)
        self.previewed[call.subject] -= back
        share = back / result.characters if result.characters else 0
        account = self._recalled(call, result)
        account.recalled_bytes = round(account.recalled_bytes * share)
        account.recalled_tokens *= share
        return account


def _kept_out(
    found: replaced.Replaced, result: Result, shown: replaced.Shown, ratio: float
) -> Account:
    return Account(
        stubs=1,
        stored_bytes=found.stored_bytes,
        shown_bytes=shown.size_bytes,
        stub_bytes=result.size_bytes,
        shown_tokens=shown.characters / ratio,
        stub_tokens=result.characters / ratio,
    )
