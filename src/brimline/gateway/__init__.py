"""The gateway: a door on loopback that applies the compaction layers to a running client."""
