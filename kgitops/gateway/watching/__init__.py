"""The gateway seen from outside: metrics and health."""
