"""What the service remembers: SQLite in WAL mode, one connection, used from the event loop's thread only."""
