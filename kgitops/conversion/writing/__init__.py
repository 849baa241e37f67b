"""The converted project: arranged in files, checked, and put in place."""
