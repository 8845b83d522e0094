"""What the real service would do: pure functions from documents and records to documents, decisions and errors."""
