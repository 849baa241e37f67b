"""Policies written in CEL: checked when they are loaded, evaluated for each request."""
