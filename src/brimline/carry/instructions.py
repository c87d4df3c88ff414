"""What the client's own summary is asked to hold, printed before it compacts. Pure."""

from __future__ import annotations

from brimline.carry import card

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from brimline.carry.items import Ledger

BUDGET_CHARACTERS = 9_000
DEFAULT = """\
When you summarise this conversation, keep:
- the current task and its objectives, in the user's own words
- decisions that were made, and why, with the options that were rejected
- exact file paths and locations in the code that matter for what is next
- open tasks and what is still to be done, in order
- errors that were met, and how each was resolved or that it was not
- critical state: constraints of the user, names, numbers, versions, commands that work
Be brief about work that is completed. Write it so that the work can go on without reading \
the files again."""
_FACTS = (
    "The following was recorded during the session. Take every line over word for word; leave "
    "none out, and do not present anything as open that is listed as finished."
)


def instructions(
    ledger: Ledger,
    marked_rules: Sequence[str] = (),
    *,
    own: str | None = None,
    budget: int = BUDGET_CHARACTERS,
) -> str:
    """The whole text: the user's own instructions or ours, then verbatim facts from the ledger.

    Args:
        ledger: what the session is known to hold.
        marked_rules: rules that survive every compaction.
        own: the user's own instructions; None for ours.
        budget: the most characters.
    """
    general = DEFAULT if own is None else _cut(own.strip(), budget // 2)
    facts = card.facts(_FACTS, ledger, marked_rules, budget=budget - len(general) - 2)
    return "\n\n".join(part for part in (general, facts) if part)


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return text[: most - len(card.TRUNCATED) - 1] + "\n" + card.TRUNCATED
