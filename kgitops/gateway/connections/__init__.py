"""Connections of clients, each with one to a broker: requests, logins, names and limits."""
