"""How many requests of each api one plan sends, handshakes left out, as JSON."""

import json
import sys
from pathlib import Path

from kgitops.workflow.loading import loaded
from kgitops.workflow.pipeline import plan_against
from kgitops.workflow.project.selection import Selection, open_workspace

workspace = open_workspace(Selection(paths=(Path(sys.argv[1]),), environ={}))
with loaded(workspace) as declared, workspace.connected() as cluster:
    plan_against(cluster, declared, workspace)
    print(json.dumps(cluster.wire.sent))
