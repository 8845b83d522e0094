"""One connection to an account: credentials, the SDK, retry, what errors mean, storage."""
