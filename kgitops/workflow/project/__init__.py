"""Finds the project, the files and the cluster of a command line."""
