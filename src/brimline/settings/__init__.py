"""The settings: their list and checks, named sets, files, and the flat file that hooks read."""
