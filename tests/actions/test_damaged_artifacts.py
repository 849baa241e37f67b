"""An artefact that was cut off or damaged on its way ends a step in one sentence."""

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from actions.conftest import Repository
from actions.fake_github import Failure
from actions.scripts import module, script
from msgspec import Struct
from report.workflow_commands import commands

PLAN = json.dumps({f"key-{number}": number**7 for number in range(60)}).encode()


class Kept(Struct):
    """Stands in for GitHub's store, which alone can damage what it keeps."""

    content: bytes

    def download(self, path: str, most: int) -> bytes:
        return self.content


def zipped(method: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.writestr("plan.json", PLAN)
    return buffer.getvalue()


def ascii_start(content: bytes) -> str:
    return ascii(content[:6])


def damaged(whole: bytes) -> Iterator[bytes]:
    """The content cut off at each byte, and with each byte changed in three ways."""
    for at in range(len(whole)):
        yield whole[:at]
        for other in {0, 0xFF, whole[at] ^ 0x80} - {whole[at]}:
            yield whole[:at] + bytes([other]) + whole[at + 1 :]


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
def test_a_damaged_zip_is_no_usable_artefact(method: int, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    refused = 0
    with module("artifacts") as artifacts:
        for content in damaged(zipped(method)):
            artifact = {"id": 1, "name": "kgitops-plan-prod"}
            try:
                artifacts.extract(Kept(content), artifact, "plan.json", file)
            except artifacts.Stopped:
                refused += 1
                assert not file.exists()
            else:  # the damage is in a part that is not read, such as a date
                assert file.read_bytes() == PLAN
                file.unlink()
    assert refused > len(zipped(method))


def test_words_that_are_no_text_are_shown_with_a_stand_in(repository: Repository) -> None:
    folder = repository.temp / "left"
    folder.mkdir(parents=True)
    (folder / "run.json").write_bytes(b'{"exitcode": 8, "said": "\\ud800 can not be reached"}')
    ran = script(repository, "check_plan.py", PLAN_FOLDER=str(folder))
    assert (ran.returncode, ran.stdout) == (0, "")
    assert "? can not be reached" in (folder / "comment.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("answer", [b"<html>", b"\xff", b"{}", b"[" * 100_000], ids=ascii_start)
def test_an_answer_that_is_not_githubs_is_one_sentence(
    answer: bytes, repository: Repository
) -> None:
    repository.github.failures.append(Failure("GET", "artifacts", 200, content=answer))
    ran = script(repository, "fetch_plan.py", INPUT_PROJECT=".", INPUT_CLUSTER="prod")
    errors = [command for command in commands(ran.stdout) if command.name == "error"]
    assert (ran.returncode, len(errors)) == (1, 1), ran.stdout
    assert "sent an answer that can't be read" in errors[0].message
    assert "Traceback" not in ran.stdout
