"""The plan itself: its values, its risk codes, and its sealed file."""
