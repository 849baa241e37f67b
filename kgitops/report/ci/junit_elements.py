"""How a document of JUnit XML is written, whatever it tells of: its cases, suites and text."""

from collections.abc import Iterable
from dataclasses import dataclass
from io import BytesIO

from junitparser import Failure, JUnitXml, Skipped, TestCase, TestSuite

from kgitops.model.wording import shortened
from kgitops.report.content.safe_text import guarded_line, terminal_text


@dataclass(frozen=True, slots=True, kw_only=True)
class JUnit:
    """``name`` is the document's own; texts of more than ``longest`` characters are shortened."""

    name: str
    longest: int | None = None

    def text(self, suites: Iterable[tuple[str, Iterable[TestCase]]]) -> str:
        """The document; the names of its suites are safe already."""
        root = JUnitXml(name=self.name)
        for name, cases in suites:
            suite = TestSuite(name=name)
            suite.add_testcases(list(cases))
            root.add_testsuite(suite)
        # Set by hand: a count of skipped tests on the root is more than Jenkins's schema allows.
        root.tests = sum(suite.tests for suite in root)
        root.failures = sum(suite.failures for suite in root)
        root.errors = sum(suite.errors for suite in root)
        written = BytesIO()
        root.write(written, pretty=True)
        # As references, so that it stays what it says it is in whatever encoding it is printed.
        return written.getvalue().decode().encode("ascii", "xmlcharrefreplace").decode()

    def case(self, name: str, classname: str) -> TestCase:
        """A case that passes as long as it gets no other result."""
        return TestCase(name=self.safe(name), classname=self.safe(classname), time=0)

    def failure(self, message: str, kind: str, lines: Iterable[str]) -> Failure:
        """Why a case fails: in one sentence, and line by line."""
        failure = Failure(self.safe(message), kind)
        failure.text = "\n".join(map(self.safe, lines))
        return failure

    def skipped(self, message: str) -> Skipped:
        """Why a case neither fails nor passes."""
        return Skipped(self.safe(message))

    def safe(self, text: str) -> str:
        """Without anything that acts or hides; what XML can't hold is an escape in words."""
        line = terminal_text(text)
        if self.longest is not None:
            line = shortened(line, self.longest)
        return guarded_line(line) or "(empty)"
