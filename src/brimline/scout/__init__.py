"""Optional: advises against, or refuses, reads of folders that fill the window. Off by default."""
