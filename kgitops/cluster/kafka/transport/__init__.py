"""Connections to brokers: configuration, TLS, tokens, requests and their deadlines."""
