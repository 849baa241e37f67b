"""Signed commits and tags: real keys of SSH and OpenPGP, and everybody who may not sign."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from reconcile.sources.repositories import PROJECT, allowed_signers, run, ssh_key

from kgitops.model.errors import SafetyError, UsageError
from kgitops.reconcile.sources.git_settings import SignatureKeys


@pytest.fixture
def alice(tmp_path: Path) -> Path:
    return ssh_key(tmp_path, "alice")


@pytest.fixture
def mallory(tmp_path: Path) -> Path:
    return ssh_key(tmp_path, "mallory")


@pytest.fixture
def signers(tmp_path: Path, alice: Path) -> Path:
    return allowed_signers(tmp_path / "signers", alice=alice)


def test_a_commit_of_an_allowed_signer_is_planned(repository, alice, signers, open_source):
    commit = repository.commit(PROJECT, alice)
    revision = open_source(keys=SignatureKeys(signers)).refresh()
    assert revision.name == commit
    assert revision.signed_by.startswith("alice@example.com (SHA256:")


def test_unsigned_and_strangers_commits_leave_the_last_good_one(
    repository, alice, mallory, signers, open_source
):
    good = repository.commit(PROJECT, alice)
    source = open_source(keys=SignatureKeys(signers))
    source.refresh()
    unsigned = repository.commit(PROJECT + "# unsigned\n")
    kept = source.refresh()
    assert (kept.name, kept.failures) == (good, 1)
    assert kept.problem == (
        f"the commit {unsigned[:12]} at HEAD of {repository.folder} is not signed; nothing of it "
        f"is planned until it is signed with a key of {signers}"
    )
    assert not list(kept.folder.parent.glob(f"*{unsigned}*")), "not even checked out"

    repository.commit(PROJECT + "# stranger\n", mallory)
    kept = source.refresh()
    assert (kept.name, kept.failures) == (good, 2)
    assert "is signed by nobody who may; nothing of it is planned" in kept.problem

    last = repository.sign_commit(alice)
    assert source.refresh().name == last, "the head speaks for what lies below it"


def test_the_first_revision_must_be_signed_too(repository, mallory, signers, open_source):
    repository.commit(PROJECT, mallory)
    source = open_source(keys=SignatureKeys(signers))
    for _ in range(2):
        with pytest.raises(SafetyError, match="signed by nobody who may"):
            source.refresh()


def test_a_signature_of_other_content_is_none(repository, alice, signers, open_source):
    repository.commit(PROJECT, alice)
    signed = repository.git("cat-file", "commit", "HEAD")
    forged = signed.replace("a change", "another change")
    file = repository.folder / ".git" / "forged"
    file.write_text(forged + "\n")
    commit = repository.git("hash-object", "-t", "commit", "-w", str(file))
    repository.git("update-ref", "refs/heads/main", commit)
    with pytest.raises(SafetyError, match="signed by nobody who may"):
        open_source(keys=SignatureKeys(signers)).refresh()


def test_who_loses_the_right_takes_the_last_good_revision_along(
    repository, alice, mallory, signers, open_source
):
    repository.commit(PROJECT, alice)
    source = open_source(keys=SignatureKeys(signers))
    source.refresh()
    allowed_signers(signers, mallory=mallory)
    with pytest.raises(SafetyError, match="signed by nobody who may"):
        source.refresh()
    replaced = repository.commit(PROJECT + "# mallory's now\n", mallory)
    assert source.refresh().name == replaced


def test_signed_tags_are_asked_for_their_own_signature(repository, alice, signers, open_source):
    commit = repository.commit(PROJECT)
    repository.tag("v1", alice)
    repository.tag("v2")
    tagged = open_source(keys=SignatureKeys(signers), ref="v1").refresh()
    assert (tagged.name, tagged.signed_by.split()[0]) == (commit, "alice@example.com")
    with pytest.raises(SafetyError, match=r"the tag \w+ at refs/tags/v2 of .* is not signed"):
        open_source(keys=SignatureKeys(signers), ref="v2").refresh()
    repository.git("update-ref", "refs/tags/v3", repository.git("rev-parse", "v1"))
    with pytest.raises(SafetyError, match="was signed as the tag v1, not as this one"):
        open_source(keys=SignatureKeys(signers), ref="v3").refresh()


@pytest.fixture
def gnupg() -> Iterator[Path]:
    """A home of gpg; its agent listens there, and a socket's path may have 107 characters."""
    with TemporaryDirectory(prefix="gnupg-", dir="/tmp", ignore_cleanup_errors=True) as name:
        yield Path(name)


def test_open_pgp_keys_sign_too(repository, alice, open_source, gnupg, tmp_path):
    home = gnupg
    for person in ("carol", "dave"):
        run("gpg", "--homedir", home, "--batch", "--passphrase", "", "--quick-generate-key",
            f"{person}@example.com", "ed25519", "sign", "0", cwd=tmp_path)  # fmt: skip
    keys = tmp_path / "keys.asc"
    keys.write_text(
        run("gpg", "--homedir", home, "--armor", "--export", "carol@example.com", cwd=tmp_path)
    )
    try:
        sign = ("-c", "user.signingKey=carol@example.com", "commit", "-q", "-S", "-m", "signed")
        (repository.folder / "kgitops.yaml").write_text(PROJECT)
        repository.git("add", "--all")
        repository.git(*sign, GNUPGHOME=str(home))
        source = open_source(keys=SignatureKeys(gpg_keys=keys))
        good = source.refresh()
        assert good.signed_by.startswith("carol@example.com (")
        sign = ("-c", "user.signingKey=dave@example.com", *sign[2:])
        repository.git(*sign, "--allow-empty", GNUPGHOME=str(home))
        assert "is signed by nobody who may" in source.refresh().problem
        repository.sign_commit(alice)
        assert "is signed by nobody who may" in source.refresh().problem, "keys of SSH are not"
    finally:
        run("gpgconf", "--homedir", home, "--kill", "all", cwd=tmp_path)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, r"--allowed-signers .* can't be read: No such file or directory"),
        ("", r"--allowed-signers .* is empty, so nobody could sign; add keys"),
    ],
)
def test_a_file_of_keys_that_is_no_good_stops(repository, open_source, tmp_path, content, sentence):
    repository.commit(PROJECT)
    file = tmp_path / "keys"
    if content is not None:
        file.write_text(content)
    with pytest.raises(UsageError, match=sentence):
        open_source(keys=SignatureKeys(file)).refresh()


def test_a_file_of_pgp_keys_without_keys_stops(repository, open_source, tmp_path):
    repository.commit(PROJECT)
    file = tmp_path / "keys"
    file.write_text("no keys\n")
    with pytest.raises(UsageError, match=r"--gpg-keys .* holds no public keys that gpg can import"):
        open_source(keys=SignatureKeys(gpg_keys=file)).refresh()
