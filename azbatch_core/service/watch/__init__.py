"""How jobs and tasks stand, whose fault a failure is, and why something waits."""
