"""The HTTP side of the service: requests checked and taken apart, replies put together, to the letter.

Handlers (in `routes`) see a `Call` and give a `Response`; what is the same for all operations is here:
api-versions, query options, bodies, conditional headers, paging, metadata, the error envelope.
"""
