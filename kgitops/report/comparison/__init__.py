"""Two states side by side, as text, JSON and Markdown."""
