"""What brimline keeps: per session a snapshot, the spoken tiers and a spool; and the error log."""
