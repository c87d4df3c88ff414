"""What to say or refuse, given a reading."""
