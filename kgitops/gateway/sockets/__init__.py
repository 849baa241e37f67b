"""Sockets of the gateway: frames, TLS, PROXY headers, and pace, whoever is at the other end."""
