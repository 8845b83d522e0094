"""Pools and jobs of an account: listed, made, cancelled, deleted."""
