"""The pack: policies that most teams want; a project file names them ``kgitops.policies:Class``."""
