"""A plan in each of its forms; a form's module is imported when it is asked for."""

from kgitops.plan.document.file import SealedPlan


def render_plan(
    sealed: SealedPlan,
    form: str,
    *,
    full: bool = False,
    colour: bool = False,
    width: int = 100,
    saved_as: str | None = None,
    max_bytes: int | None = None,
) -> str:
    """The plan as ``text``, ``json``, ``markdown``, ``html``, ``sarif``, ``junit`` or ``github``.

    ``full``, ``colour``, ``width`` (in characters) and ``saved_as`` (the file that a reader is
    told to apply) matter to ``text`` alone, and ``max_bytes`` (the size of one comment, in UTF-8)
    to ``markdown``.

    Raises:
        ValueError: there is no such form.
    """
    plan = sealed.plan
    match form:
        case "text":
            from kgitops.report.text.plan import render_text

            return render_text(
                plan, sealed=sealed, full=full, colour=colour, width=width, saved_as=saved_as
            )
        case "json":
            from kgitops.report.json.plans import render_json

            return render_json(plan, sealed=sealed)
        case "markdown":
            from kgitops.report.markdown.plan import GITHUB_BUDGET, render_markdown

            return render_markdown(plan, sealed=sealed, budget=max_bytes or GITHUB_BUDGET)
        case "html":
            from kgitops.report.html.render import render_html

            return render_html(plan, sealed=sealed)
        case "sarif":
            from kgitops.report.ci.sarif import render_sarif

            return render_sarif(plan, sealed=sealed)
        case "junit":
            from kgitops.report.ci.junit import render_junit

            return render_junit(plan, sealed=sealed)
        case "github":
            from kgitops.report.ci.github import render_github

            return render_github(plan, sealed=sealed)
        case _:
            raise ValueError(f"{form!r} is not a form of a plan")
