"""A subset of the Blob service REST API over plain files: what resource and output files need."""
