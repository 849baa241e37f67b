"""Random requests about ACLs and SCRAM users."""

from serve.differential.random_choices import Choices, Fields, Step

ANY, MATCH = 1, 2
LITERAL, PREFIXED = 3, 4


def _acl(choices: Choices) -> Fields:
    return {
        "resource_type": choices.often(choices.one(2, 3, 5), 4, 6, 1, 0, 9),
        "resource_name": choices.often(choices.existing_name(), "*", "kafka-cluster", ""),
        "resource_pattern_type": choices.often(LITERAL, PREFIXED, ANY, MATCH, 9),
        "principal": choices.often(f"User:{choices.user()}", "User:*", choices.user(), ""),
        "host": choices.often("*", "127.0.0.1", "::1", "no host", ""),
        "operation": choices.often(choices.one(3, 4, 8), 2, 5, 6, 7, 9, 10, 11, 12, 1, 0, 99),
        "permission_type": choices.often(3, 2, 1, 0),
    }


def create_acls(choices: Choices) -> Step:
    """ACLs of the program's users; those of everybody are never kept."""
    rows = choices.some(lambda: _acl(choices))
    for row in rows:
        if row["principal"] == "User:*":
            row["resource_type"] = 1  # refused
    return Step("CreateAcls", {"creations": rows}, writes=True, version=choices.often(3, 1, 2))


def _filter(choices: Choices) -> Fields:
    return {
        "resource_type_filter": choices.often(choices.one(ANY, 2, 3), 0, 9),
        "resource_name_filter": choices.one(None, choices.existing_name()),
        "pattern_type_filter": choices.often(choices.one(ANY, MATCH, LITERAL, PREFIXED), 0, 9),
        "principal_filter": f"User:{choices.user()}",
        "host_filter": choices.often(None, "*", "::1"),
        "operation": choices.often(ANY, 3, 0, 99),
        "permission_type": choices.often(ANY, 2, 3, 0, 9),
    }


def delete_acls(choices: Choices) -> Step:
    """By filters about the program's users."""
    fields = {"filters": choices.some(lambda: _filter(choices))}
    return Step("DeleteAcls", fields, writes=True, version=choices.often(3, 1, 2))


def describe_acls(choices: Choices) -> Step:
    """By a filter about one of the program's users."""
    return Step("DescribeAcls", _filter(choices), writes=False, version=choices.often(3, 1, 2))


def alter_scram(choices: Choices) -> Step:
    """Users that come and go, some of them twice in a request."""

    def deletion() -> Fields:
        return {"name": choices.often(choices.user(), ""), "mechanism": choices.often(1, 2, 0, 9)}

    def upsertion() -> Fields:
        return {
            "name": choices.often(choices.user(), ""),
            "mechanism": choices.often(1, 2, 0, 9),
            "iterations": choices.often(8192, 4096, 4095, 16385),
            "salt": choices.often(b"salt of sixteen!", b""),
            "salted_password": choices.often(b"p" * 32, b""),
        }

    fields = {
        "deletions": [deletion()] if choices.one(True, False) else [],
        "upsertions": choices.some(upsertion, most=2),
    }
    return Step("AlterUserScramCredentials", fields, writes=True)


def describe_scram(choices: Choices) -> Step:
    """Some of the program's users."""
    users = choices.some(lambda: {"name": choices.often(choices.user(), "")})
    fields = {"users": users or [{"name": choices.user()}]}
    return Step("DescribeUserScramCredentials", fields, writes=False)


READS = (describe_acls, describe_acls, describe_scram)
WRITES = (create_acls, create_acls, delete_acls, alter_scram)
