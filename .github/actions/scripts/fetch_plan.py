"""Fetches what the plan's job of this run left: data that whoever wrote the pull request can shape.

Only two files are taken, by name; check_plan.py looks at what is in them.
"""

import os
import shutil

from artifacts import extract_present, of_run
from names import artifact_name
from rest import github
from runner import Stopped, main, set_output, text_input, work_folder


def fetch() -> None:
    """The plan, where there is one, and how kgitops ended."""
    api = github()
    name = artifact_name("plan", text_input("PROJECT"), text_input("CLUSTER"))
    found = of_run(api, name, os.environ["GITHUB_RUN_ID"])
    if found is None:
        raise Stopped(f"the job that plans left no artefact {name}; its log says why")
    folder = work_folder("kgitops-comment")
    shutil.rmtree(folder)
    folder.mkdir()
    extract_present(api, found, {file: folder / file for file in ("plan.json", "run.json")})
    set_output("folder", folder)
    set_output("artifact-name", name)


if __name__ == "__main__":
    main(fetch)
