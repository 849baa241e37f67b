"""Clients with certificates: the login that each of them has at the brokers."""
