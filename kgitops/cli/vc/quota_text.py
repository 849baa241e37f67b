"""Which quota one caller has, as text on stdout."""

from kgitops.model.resources.addresses import quota_address
from kgitops.model.resources.quotas import CLIENT_KEYS, quota_text
from kgitops.model.resources.virtual_clusters import as_principal, user_name
from kgitops.report.content.safe_text import guarded_line, terminal_text
from kgitops.virtual_clusters.quota_resolution import Quotas, explain, resolve


def render_quotas(
    quotas: Quotas, *, virtual_cluster: str | None, user: str | None, client_id: str | None
) -> str:
    """For each key the 16 lookups in their order (VC-200), and the cap (VC-201).

    A key that nothing is set for takes one line.
    """
    name = user_name(as_principal(user)) if user else None
    where = f"the virtual cluster {virtual_cluster}" if virtual_cluster else "no virtual cluster"
    names = [as_principal(user)] if user else []
    who = " with ".join([*names, *([f"client id {client_id}"] if client_id else [])])
    lines = [f"{who}, in {where}; every quota is one broker's"]
    for key in sorted(CLIENT_KEYS):
        asked = {"virtual_cluster": virtual_cluster, "user": name, "client_id": client_id}
        found = resolve(quotas, key=key, **asked)
        if found.value is None and found.cap is None:
            lines += ["", f"{key}: no limit"]
            continue
        said = "nothing" if found.value is None else quota_text(found.value)
        lines += ["", f"{key}: {said}{_shared(found.bucket)}"]
        for row in explain(quotas, key=key, **asked):
            mark = ">" if row.won else " "
            value = "" if row.value is None else f" = {quota_text(row.value)}"
            lines.append(f"  {mark} {row.rank:>2} {row.path}{value}  ({row.why})")
        if found.cap is not None and found.cap_entity is not None:
            lines.append(f"  cap {quota_address(found.cap_entity)} = {quota_text(found.cap)}")
        if found.limit is not None and found.limit != found.value:
            lines.append(f"  so one caller reaches {quota_text(found.limit)} at most")
    return "\n".join(guarded_line(terminal_text(line)) for line in lines)


def _shared(bucket: tuple[tuple[str, str | None], ...]) -> str:
    if not bucket:
        return ""
    return f", shared by all of {quota_address(bucket)}"
