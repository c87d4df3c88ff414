"""What the guard leaves in a session's folder: what it has told."""

from __future__ import annotations

FILES = {"sessions/*": r"reminder|(ceiling|quota)-[\w.-]+"}
BRIEF = ("ceiling-", "quota-", "reminder")
