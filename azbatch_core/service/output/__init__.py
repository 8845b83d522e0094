"""What tasks wrote: on their node, or as a copy in storage."""
