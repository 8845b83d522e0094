"""The only client code that imports azure.*: connect, submit, watch, read logs, explain, clean up."""
