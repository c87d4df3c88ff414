"""What the client's mod asks of Python."""
