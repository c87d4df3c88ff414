"""The books of offloading: what stubs kept out, what recalls brought back, each once. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Account:
    """What stubs kept out, and what recalls brought back."""

    stubs: int = 0
    stored_bytes: int = 0
    shown_bytes: int = 0
    """Of what is stored, as much as the client would have shown."""
    stub_bytes: int = 0
    recalls: int = 0
    recalled_bytes: int = 0
    shown_tokens: float = 0.0
    stub_tokens: float = 0.0
    recalled_tokens: float = 0.0

    @property
    def kept_out_bytes(self) -> int:
        """What is left of it; below zero where it cost more than it saved."""
        return self.shown_bytes - self.stub_bytes - self.recalled_bytes

    @property
    def kept_out_tokens(self) -> float:
        """The same, estimated."""
        return self.shown_tokens - self.stub_tokens - self.recalled_tokens

    def add(self, other: Account) -> None:
        """Take another one in."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(slots=True)
class Tally:
    """Sums that count every call and every request once, however often files repeat it."""

    main: Account = field(default_factory=Account)
    subagents: Account = field(default_factory=Account)
    requests: int = 0
    """Requests of main threads after a stub and before the next compaction."""
    token_requests: float = 0.0
    """By how much these were smaller, added up."""
    measured_stubs: int = 0
    measured_tokens: int = 0
    """What stubs really took, where nothing else came between two requests."""
    measured_estimate: float = 0.0
    _seen: set[str] = field(default_factory=set)

    def is_new(self, name: str) -> bool:
        """Whether this was not counted yet; asked once for each thing."""
        if name in self._seen:
            return False
        self._seen.add(name)
        return True


@dataclass(slots=True)
class Session:
    """What offloading did in one session."""

    path: str
    tally: Tally = field(default_factory=Tally)
    project: str | None = None
    first_at: str | None = None
    last_at: str | None = None
    fullest_tokens: int = 0
    """The occupancy of the fullest request."""
    fullest_kept_out_tokens: float = 0.0
    """By how much it would have been fuller, estimated."""

    @property
    def has_any(self) -> bool:
        """Whether anything was kept out or fetched back."""
        accounts = (self.tally.main, self.tally.subagents)
        return any(account.stubs or account.recalls for account in accounts)
