"""Token functions of installed packages, for ``sasl.oauthbearer.token.provider``.

Only what a package was installed for can be named: a project file can't make kgitops call another
function.
"""

from importlib.metadata import entry_points

from kgitops.cluster.kafka.configs.tokens.provided import TokenFunction
from kgitops.model.errors import UsageError

GROUP = "kgitops.token_providers"
CONFIG = "sasl.oauthbearer.token.provider"


def token_function(name: str) -> TokenFunction:
    """Load the token provider that a package has under this name.

    Raises:
        UsageError: none has, several have, or it can't be loaded.
    """
    known = entry_points(group=GROUP)
    found = [point for point in known if point.name == name]
    if not found:
        others = ", ".join(sorted(known.names)) or "none"
        raise UsageError(
            f"{CONFIG}: no installed package has a token provider {name!r} (known: {others}); "
            "correct the name, or install its package beside kgitops"
        )
    if len({point.value for point in found}) > 1:
        packages = ", ".join(sorted(point.dist.name for point in found if point.dist))
        raise UsageError(
            f"{CONFIG}: several packages have a token provider {name!r} ({packages}); uninstall "
            "all but one"
        )
    try:
        function = found[0].load()
    except Exception as error:  # noqa: BLE001 (whatever the module does when it is imported)
        detail = f": {error}" if isinstance(error, ImportError) else ""
        raise UsageError(
            f"{CONFIG}: {found[0].value} of the token provider {name!r} can't be loaded "
            f"({type(error).__name__}{detail}); mend its package"
        ) from None
    if not callable(function):
        raise UsageError(
            f"{CONFIG}: {found[0].value} of the token provider {name!r} is no function; mend its "
            "package"
        )
    loaded: TokenFunction = function
    return loaded
