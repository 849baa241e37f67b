"""Which project, files and cluster a command line means."""
