"""Plans, drift and applies as text for a terminal."""
