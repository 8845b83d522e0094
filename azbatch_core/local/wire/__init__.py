"""The wire's shapes: what a request body may hold, and how durations and times are written."""
