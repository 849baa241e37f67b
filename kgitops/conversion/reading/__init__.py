"""The files of other tools: found, parsed, and every value with its place."""
