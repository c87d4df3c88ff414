"""The scout's face to the hooks: asked before a read, once `brimline scout on` registered it.

Fast path: imports nothing.
"""

from __future__ import annotations

TOOLS = ("Read", "Glob", "Grep", "Bash")
