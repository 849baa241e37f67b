"""Which requests are allowed."""
