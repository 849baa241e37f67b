"""Calls of functions and methods, and has()."""

import difflib

from kgitops.policy.cel.check.checking import Checking
from kgitops.policy.cel.check.wording import conversion, named, nearest, shown
from kgitops.policy.cel.functions import FUNCTIONS, OTHERS
from kgitops.policy.cel.nodes import LOOPS, Call
from kgitops.policy.cel.types import BOOL, STRING, Kind, Type, fits


def call_type(checking: Checking, node: Call) -> Type:
    """The type of a call; loops have their own."""
    if node.function == "has" and node.target is None:
        checking.check(node.arguments[0])
        return BOOL
    own = node.arguments if node.target is None else (node.target, *node.arguments)
    given = [checking.check(argument) for argument in own]
    function = FUNCTIONS.get(node.function)
    if function is None:
        return _no_function(checking, node)
    if not function.is_called(method=node.target is not None, arguments=len(node.arguments)):
        text = f"{node.function}() is called in another way"
        return checking.add(node, text, f"write {function.form}")
    for argument, type_, takes in zip(own, given, (function.takes, (STRING,)), strict=False):
        if type_.kind is Kind.NULL:
            return checking.null(argument)
        if not any(fits(type_, one) for one in takes):
            wanted = " or ".join(dict.fromkeys(named(one) for one in takes))
            text = f"{node.function}() takes {wanted}, and {shown(argument)} is {named(type_)}"
            return checking.add(node, text, conversion(type_, takes))
        checking.may_be_null(argument, type_)
    return function.gives


def _no_function(checking: Checking, node: Call) -> Type:
    known = [*FUNCTIONS, *LOOPS, "has"]
    near = difflib.get_close_matches(node.function, [*known, *OTHERS], n=1, cutoff=0.75)
    advice = OTHERS.get(near[0] if near else "") or nearest(node.function, known, "there are")
    return checking.add(node, f"there is no function {node.function}()", advice)
