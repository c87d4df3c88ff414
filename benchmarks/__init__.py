"""Measurements and checks that are too slow or too noisy to be tests.

run.py, latency.py    `make bench`: what a hook costs, as a ratio to an empty interpreter
world.py              the throwaway world it runs in: package copies, sessions, what is started
spawn.py, stats.py    interleaved process starts; medians, ratios, intervals
report.py             the page RESULTS.md
typical_hook.py       what most hooks in Python look like, for comparison
store.py              what storing costs, and how the store does with 100,000 blobs
calls.py              what brimline adds to a tool call in the real client
mcp.py                how fast the MCP server answers, beside a bare one
offload.py            what keeping results out saves, and what stays in sight, on recorded sessions
forecast.py           how good the forecast is, on recorded segments
smoke.py              `make smoke`: the built wheel, installed alone
"""
