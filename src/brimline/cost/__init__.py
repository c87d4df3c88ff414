"""What sessions cost at list price, and what the next request will."""
