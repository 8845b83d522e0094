"""The service's JSON documents and files, sent and read through a connection."""
