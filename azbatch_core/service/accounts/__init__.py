"""Which account, whether it answers, and what the planner must know of it."""
