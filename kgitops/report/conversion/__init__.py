"""A conversion as text, and as the page ``CONVERTED.md``."""
