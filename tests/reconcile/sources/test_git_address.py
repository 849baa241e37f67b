"""Addresses, refs and paths: what git must never be given."""

import pytest

from kgitops.model.errors import UsageError
from kgitops.reconcile.sources.git_address import checked_path, checked_ref, git_address, redacted


@pytest.mark.parametrize(
    "text",
    [
        "https://example.com/org/repo.git",
        "https://example.com:8443/org/repo",
        "ssh://git@example.com:22/org/repo.git",
        "git@example.com:org/repo.git",
        "http://127.0.0.1:8080/repo.git",
        "http://localhost/repo.git",
    ],
)
def test_ordinary_addresses_are_taken_as_they_are(text):
    assert git_address(text, signed=False).url == text


def test_a_folder_is_an_address(tmp_path):
    address = git_address(str(tmp_path), signed=False)
    assert (address.url, address.local) == (str(tmp_path), True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "--upload-pack=touch x",
        "-oProxyCommand=x:y",
        "ext::sh -c touch% x",
        "fd::3",
        "file:///srv/repo.git",
        "git://example.com/repo.git",
        "ftp://example.com/repo.git",
        "http://example.com/repo.git",
        "ssh://-oProxyCommand=x/repo.git",
        "ssh://git@-oProxyCommand=x/repo.git",
        "ssh://git:secret@example.com/repo.git",
        "git@-oProxyCommand=x:repo.git",
        "git@example.com:-repo",
        "https:///repo.git",
        "https://example.com",
        "https://example.com:port/repo",
        "https://example.com/repo?token=secret",
        "https://example.com/repo\nhttps://other",
        "./no/such/folder",
        "no-such-folder",
    ],
)
def test_what_git_must_not_be_given_is_refused(text):
    with pytest.raises(UsageError) as caught:
        git_address(text, signed=False)
    assert str(caught.value).startswith("--git ")
    assert "secret" not in str(caught.value)


def test_a_login_in_the_address_is_refused_and_not_shown():
    for login in ("alice:s3cret", "s3cret"):
        with pytest.raises(UsageError, match="set KGITOPS_GIT_USERNAME") as caught:
            git_address(f"https://{login}@example.com/repo.git", signed=True)
        assert "s3cret" not in str(caught.value)
        assert "https://***@example.com/repo.git" in str(caught.value)


def test_plain_http_is_for_signed_revisions():
    assert git_address("http://example.com/repo.git", signed=True).url


@pytest.mark.parametrize("ref", ["HEAD", "main", "release/1.2", "refs/tags/v1.0", "a" * 40])
def test_names_of_refs(ref):
    assert checked_ref(ref) == ref


@pytest.mark.parametrize(
    "ref",
    ["", "-x", "--upload-pack=x", "a..b", "a b", "a:b", "a^", "a~1", "a?", "a*", "a[", "a\\b",
     "@", "a@{1}", "/a", "a/", "a//b", ".a", "a/.b", "a.", "a.lock", "a.lock/b", "a\nb"],
)  # fmt: skip
def test_what_is_no_name_of_a_ref(ref):
    with pytest.raises(UsageError, match="is not a name of a branch or a tag"):
        checked_ref(ref)


@pytest.mark.parametrize("path", ["/etc", "..", "a/../../b", "-a", ":(top)", "a\nb"])
def test_paths_that_lead_out_of_the_repository(path):
    with pytest.raises(UsageError, match="is not a folder of the repository"):
        checked_path(path)
    assert str(checked_path("a/b/./c")) == "a/b/c"


def test_text_is_shown_without_logins():
    text = "fatal: 'https://alice:pw@h/x?sig=1' and token=abcd: http://tok@h"
    assert redacted(text, ("abcd",)) == ("fatal: 'https://***@h/x?***' and token=***: http://***@h")
