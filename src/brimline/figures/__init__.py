"""What sessions cost at list price, and what the next request will."""

# Nobody is told of an expired cache of a smaller context, which costs cents.
LEAST_TOKENS = 100_000
# No cache lives shorter.
SHORTEST_S = 300
