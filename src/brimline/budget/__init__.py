"""What a session's window is meant to hold, in five compartments with a share each."""
