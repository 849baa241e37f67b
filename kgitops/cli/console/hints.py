"""Hints for words, each of which has its meaning at another place, or in another tool."""

GLOBAL_OPTIONS = {"--debug": "--debug", "--log-level": "--log-level debug"}
"""Options of kgitops itself, and how they are written: before the command."""

COMMANDS = {
    "diff": "kgitops plan shows what an apply would change, and kgitops drift what others changed",
    "destroy": "remove the documents, and name what is protected in a Tombstone",
    "delete": "remove the document, or write a Tombstone for what is protected",
    "import": "declare what exists and kgitops plan adopts it; kgitops export writes manifests",
    "refresh": "kgitops plan always reads the cluster anew",
    "state": "there is no state file; kgitops snapshot writes the cluster's state",
    "status": "kgitops drift tells what others changed, and kgitops sandbox status of the sandbox",
    "rollback": "revert the commit, and apply that",
    "lint": "kgitops validate checks manifests",
    "check": "kgitops validate checks manifests",
    "test": "kgitops policy test runs the tests of policies",
    "completion": "kgitops --install-completion sets up your shell",
    "get": "kgitops export writes manifests of a cluster",
    "topics": "topics are declared in YAML; kgitops export writes those of a cluster",
    "quota": "quotas are declared in YAML; kgitops vc quota explain tells which one applies",
    "quotas": "quotas are declared in YAML; kgitops vc quota explain tells which one applies",
    "acl": "kgitops acls lists, adds and removes bindings",
}
"""Commands that people look for, and what does that here."""

OPTIONS = {
    "-y": "--auto-approve applies without a question",
    "--yes": "--auto-approve applies without a question",
    "-f": "a PATH is given as it is",
    "--file": "a PATH is given as it is",
    "-v": "write kgitops --log-level debug before the command",
    "--verbose": "write kgitops --log-level debug before the command",
    "--dry-run": "kgitops plan changes nothing",
    "--force": "deletions past the limits take --allow-deletes, protected objects a Tombstone",
    "--json": "write --format json",
    "--version": "write kgitops --version",
}
"""Options that people look for, and what does that here."""
