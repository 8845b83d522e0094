"""Carrying out a plan: pool, job, tasks in bulk."""
