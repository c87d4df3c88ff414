"""A tool call with what became of it: the one type by which rooms judge results."""

from __future__ import annotations

from typing import NamedTuple

from brimline.transcript import words


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
            is_users=words.may_be_users_words(self.tool or None, text, **marks),
        )
