"""The terminal and the process: output, progress, signals, errors and hints."""
