"""What the real service would do.

Pure functions from documents and records to documents, decisions and errors.
"""
