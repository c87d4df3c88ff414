"""What brimline keeps per session: the status-line snapshot, spoken tiers, the spool, the error log."""
