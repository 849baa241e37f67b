"""Fetches the snapshot of the cluster that a trusted workflow left on the default branch."""

from artifacts import extract, newest
from rest import github
from runner import Stopped, event, main, say, set_output, text_input, work_folder


def fetch() -> None:
    """The newest one, as a file."""
    branch = event()["repository"]["default_branch"]
    name = text_input("SNAPSHOT_ARTIFACT")
    api = github()
    found = newest(api, name, lambda made_by: bool(made_by["head_branch"] == branch))
    if found is None:
        raise Stopped(
            f"there is no snapshot {name} of the branch {branch}; let the workflow that makes it "
            "run there first"
        )
    file = work_folder("kgitops-snapshot") / "state.json"
    extract(api, found, "state.json", file)
    say(
        f"Planning against {name}, made {found['created_at']} by run {found['workflow_run']['id']}."
    )
    set_output("snapshot", file)


if __name__ == "__main__":
    main(fetch)
