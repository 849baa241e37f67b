"""Logins of clients: SASL (``handshake.py``, a module a mechanism) and certificates."""
