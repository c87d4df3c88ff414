"""What hooks look for to know that a pin waits for the next large result.

Fast path: imports nothing.
"""

from __future__ import annotations

# In a session's folder, while something waits.
WAITING_FILE = "offload-pins.jsonl"
LARGE_BYTES = 5_000
