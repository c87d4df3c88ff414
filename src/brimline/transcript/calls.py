"""A tool call with what became of it: the one type by which rooms judge results."""

from __future__ import annotations

from brimline.fast.io import NamedTuple
from brimline.transcript.clienttools import CLARIFIES, REFUSED

# Tools that put something before the user: whatever they return, the user had a say in it.
_ASKING_TOOLS = ("AskUserQuestion", "ExitPlanMode")
# How a result begins that may hold words of the user: refused, in a subagent too; a question that
# was answered, a plan that was approved.
_REFUSALS = (REFUSED, "Permission for this tool use was denied")
_ASKED = (
    *("User has answered your question", "Your questions have been answered", "The user answered:"),
    *("The user responded:", "User has approved", CLARIFIES),
)
_SAID = "he user said:"
_SAID_WITHIN_CHARACTERS = 600


class Call(NamedTuple):
    """A tool call of a conversation, with its result where there is one."""

    id: str
    tool: str
    """Empty where only the result is known."""
    subject: str
    """Its file, command or pattern."""
    characters: int | None = None
    """Of its result; None without one."""
    is_error: bool = False
    has_image: bool = False
    """Whether the result holds an image that cannot stay."""
    is_users: bool = False
    """Whether the result holds words of the user's: a refusal, an answer, an approved plan."""
    size_bytes: int | None = None
    """Of the texts of its result as it was first written; None where it has none."""
    request: int = 0
    """The number of the request that made it, the first being 1."""
    segment: int = 0
    """How many compactions came before the result, or before that was last written again."""
    moved_out: bool = False
    """Whether the last of these compactions left less of it."""
    cut_by_client: bool = False
    """Whether the client sends a stand-in for its result by now."""

    def answered(
        self, text: str, *, is_error: bool, is_marked: bool = False, has_image: bool = False
    ) -> Call:
        """Return the call with its result: what the model was told, and how the client marks it."""
        marks = {"is_error": is_error, "is_marked": is_marked}
        return self._replace(
            characters=len(text),
            is_error=is_error,
            has_image=has_image,
            is_users=may_be_users_words(self.tool or None, text, **marks),
        )


def may_be_users_words(
    tool: str | None, text: str, *, is_error: bool, is_marked: bool = False
) -> bool:
    """Tell whether a tool result may hold the user's words; who edits a conversation leaves it.

    A refusal with words, an answer, an approved plan. A request to the model has only the text, so
    a failing tool can forge this; all that it gains is that its result stays.

    Args:
        tool: the tool's name; None where the call is not known.
        text: what the model was told.
        is_error: whether the result says that the call failed.
        is_marked: whether the client itself marked it, as in `row.Result`.
    """
    if is_marked or tool in _ASKING_TOOLS:
        return True
    begin = text[:_SAID_WITHIN_CHARACTERS].lstrip().removeprefix("Error: ")
    if tool is None and begin.startswith(_ASKED):
        return True
    return is_error and (begin.startswith(_REFUSALS) or _SAID in begin)
