"""The stages joined; ``pipeline`` is the page to read first."""
