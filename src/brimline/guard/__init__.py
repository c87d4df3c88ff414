"""What to say or refuse, given a reading."""

# In a session's folder: the bucket of an advice of the ceiling that was given.
CEILING_MARK = "ceiling-"
