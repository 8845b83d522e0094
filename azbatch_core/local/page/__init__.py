"""The page of the local service: what it does at this moment, for a person with a browser."""
