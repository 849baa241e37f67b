"""A small HTTP listener for looking at what runs: metrics, health, status, a page.

It knows nothing of what is looked at. Each connection has one request and one answer, and all that
a client can make it hold is bounded.
"""
