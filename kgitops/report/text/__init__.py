"""Plans, drift, applies, policies and lists as text for a terminal."""
