"""What sessions went through, as pages: in a browser, in a file, under other settings."""
