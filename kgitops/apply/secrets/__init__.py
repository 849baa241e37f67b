"""Passwords of users: found, read just before they are sent, and made up where a plan says so."""
