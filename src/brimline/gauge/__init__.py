"""How full, how fast, how long: readings of a session and what they mean."""
