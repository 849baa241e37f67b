"""Files of other tools as a project of kgitops, for ``kgitops convert``."""
