"""Slash commands `/brim:…`: answered by the hook itself, without a request to the model."""
