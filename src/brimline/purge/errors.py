"""What rewriting a session raises on purpose.

PurgeError              a session cannot be rewritten, or the copy made of it is not sound
├── LiveError           its client still runs, or it was written a moment ago
├── BusyError           another brimline command is rewriting it
└── RewrittenError      it was rewritten, but what follows a rewrite did not come to its end
"""

from __future__ import annotations

from brimline.errors import BrimlineError


class PurgeError(BrimlineError):
    """A session cannot be rewritten, or the copy made of it is not sound; nothing was swapped."""


class LiveError(PurgeError):
    """The session is in use: its client still runs, or it was written a moment ago."""


class RewrittenError(PurgeError):
    """The session was rewritten and can be put back; only the work after that was cut short."""


class BusyError(PurgeError):
    """Another brimline command is rewriting the session."""
