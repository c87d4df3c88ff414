"""The file that opens the dashboard."""

from __future__ import annotations

FILES = {"": r"dashboard-\d+\.html"}
