"""Single changes that a person asks for by a command."""
