"""Which types CEL's operators take: it never turns one into another by itself."""

from kgitops.policy.cel.types import (
    ANY,
    BOOL,
    DOUBLE,
    INT,
    STRING,
    Kind,
    Type,
    joined,
    list_of,
)


class Mismatch(Exception):  # noqa: N818 (a finding is made of it)
    """The operator does not take these types."""

    def __init__(self, advice: str) -> None:
        super().__init__(advice)
        self.advice = advice


def comparison(operator: str, left: Type, right: Type) -> Type:
    """The type of ``left < right`` and its kin.

    Raises:
        Mismatch: they have no order.
    """
    if Kind.ANY in (left.kind, right.kind) or (left.numeric and right.numeric):
        return BOOL
    if left.kind is right.kind and left.kind is Kind.STRING:
        return BOOL
    if Kind.STRING in (left.kind, right.kind) and (left.numeric or right.numeric):
        raise Mismatch("convert the text by int(…) or double(…)")
    raise Mismatch(f"{operator} compares numbers with numbers and text with text")


def arithmetic(operator: str, left: Type, right: Type) -> Type:
    """The type of ``left + right`` and its kin.

    Raises:
        Mismatch: they can't be reckoned with.
    """
    if Kind.ANY in (left.kind, right.kind):
        return ANY
    if left.kind is right.kind and left.numeric:
        if operator == "%" and left.kind is Kind.DOUBLE:
            raise Mismatch("% takes whole numbers: convert them by int(…)")
        return INT if left.kind is Kind.INT else DOUBLE
    if left.numeric and right.numeric:
        raise Mismatch("convert the whole number by double(…), or write it with a point: 1.0")
    if operator != "+":
        raise Mismatch(f"{operator} takes numbers: convert text by int(…) or double(…)")
    if left.kind is right.kind is Kind.STRING:
        return STRING
    if left.kind is right.kind is Kind.LIST:
        return list_of(joined(left.items, right.items))
    if Kind.STRING in (left.kind, right.kind) and (left.numeric or right.numeric):
        raise Mismatch("write string(…) around the number, or int(…) around the text")
    raise Mismatch("+ adds numbers, and joins text with text and lists with lists")
