"""The results of a run as a table, as JSON, as JUnit XML and as one HTML page."""

import json
import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from html import escape
from xml.sax.saxutils import escape as xml_text
from xml.sax.saxutils import quoteattr

from kafkalet.units import counted

from .results import ClientResult, ClientRun, Finding, Verdict
from .scenario import Scenario

FORMAT = 1
"""The number of the format of JSON files. It changes when a field changes its meaning or is removed."""
WIDTH = 120
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def line(result: ClientResult, width: int) -> str:
    """Return the line of a scenario, printed as soon as it has ended. `width` is that of the names."""
    return f"{result.scenario:<{width}}  {result.verdict:<22}  {result.duration_s:5.1f} s"


def details(run: ClientRun) -> Iterator[str]:
    """Yield the lines that explain each verdict that is not correct."""
    for result in run.results:
        findings = [finding for finding in result.findings if finding.verdict is not Verdict.NOT_RUN]
        if not findings:
            continue
        yield ""
        yield f"{result.scenario}: {result.verdict}"
        yield from _wrapped(result.claim, "  correct: ")
        yield from _wrapped("; ".join(result.sources), "  source:  ")
        for finding in findings:
            yield from _wrapped(finding.text, f"  {finding.verdict}: ")
            yield from (f"    {text[: WIDTH - 4]}" for text in finding.evidence)


def not_run(run: ClientRun) -> Iterator[str]:
    """Yield a line for each scenario that was not run, with the reason."""
    skipped = [result for result in run.results if result.verdict is Verdict.NOT_RUN]
    if skipped:
        yield ""
        yield f"{counted(len(skipped), 'scenario')} not run:"
        yield from (f"  {result.scenario}: {_reason(result)}"[:WIDTH] for result in skipped)


def summary(run: ClientRun) -> Iterator[str]:
    """Yield the number of scenarios for each verdict."""
    counts = Counter(result.verdict for result in run.results)
    parts = [f"{counts[verdict]} {verdict}" for verdict in reversed(Verdict) if counts[verdict]]
    yield ""
    yield f"{counted(len(run.results), 'scenario')} in {run.duration_s:.1f} s: {', '.join(parts) or 'none'}"


def listed(scenarios: Sequence[Scenario]) -> Iterator[str]:
    """Yield each scenario with its role, its claim and its sources."""
    for scenario in scenarios:
        yield f"{scenario.name} ({scenario.role})"
        yield from _wrapped(scenario.claim, "    ")
        yield from _wrapped("; ".join(scenario.sources), "    source: ")


def _wrapped(text: str, first: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=first, subsequent_indent="    ", break_long_words=False)


def _reason(result: ClientResult) -> str:
    return result.findings[0].text if result.findings else ""


# Files


def as_json(run: ClientRun) -> str:
    """Return the run as JSON: the fields of `results.ClientRun`, with the number of the format."""
    return json.dumps({"format": FORMAT, "kind": "client", "exit_status": run.exit_status, **asdict(run)}, indent=1)


def as_junit(run: ClientRun) -> str:
    """Return the run as JUnit XML, with a test case for each scenario."""
    wrong = sum(_is_wrong(result) for result in run.results)
    broken = sum(result.verdict is Verdict.FAILED for result in run.results)
    skipped = sum(result.verdict is Verdict.NOT_RUN for result in run.results)
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        f'<testsuite name="kafkalet conform client" tests="{len(run.results)}" failures="{wrong}" errors="{broken}" '
        f'skipped="{skipped}" time="{run.duration_s:.3f}" timestamp={quoteattr(run.started.replace(" ", "T"))}>',
    ]
    for result in run.results:
        lines.append(
            f"  <testcase classname={quoteattr(f'conform.client.{result.role}')} name={quoteattr(result.scenario)} "
            f'time="{result.duration_s:.3f}">'
        )
        lines += [f"    {text}" for text in _junit_outcome(result)]
        lines.append("  </testcase>")
    return "\n".join([*lines, "</testsuite>", ""])


def _is_wrong(result: ClientResult) -> bool:
    return not result.verdict.is_right and result.verdict not in (Verdict.NOT_RUN, Verdict.FAILED)


def _junit_outcome(result: ClientResult) -> Iterator[str]:
    if result.verdict is Verdict.NOT_RUN:
        yield f"<skipped message={_attribute(_reason(result))}/>"
    elif not result.verdict.is_right:
        tag = "error" if result.verdict is Verdict.FAILED else "failure"
        text = "\n".join([f"correct: {result.claim}", *_texts(result.findings), *result.requests])
        message = _attribute(f"{result.verdict}: {_reason(result)}")
        yield f"<{tag} type={quoteattr(result.verdict)} message={message}>{xml_text(_clean(text))}</{tag}>"
    if result.log and not result.verdict.is_right:
        yield f"<system-out>{xml_text(_clean(chr(10).join(result.log)))}</system-out>"


def _attribute(text: str) -> str:
    return quoteattr(_clean(text))


def _clean(text: str) -> str:
    """Replace the characters that XML does not allow."""
    return _NOT_IN_XML.sub("\ufffd", text)


def _texts(findings: Sequence[Finding]) -> Iterator[str]:
    for finding in findings:
        yield f"{finding.verdict}: {finding.text}"
        yield from (f"  {text}" for text in finding.evidence)


_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; color: #1c2128; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid #d8dee4; vertical-align: top; }
td.right { color: #1a7f37; } td.wrong { color: #cf222e; font-weight: 600; } td.none { color: #6e7781; }
td:last-child { text-align: right; white-space: nowrap; }
summary { cursor: pointer; } pre { overflow-x: auto; background: #f6f8fa; padding: .6rem; font-size: 12px; }
@media (prefers-color-scheme: dark) {
  body { background: #0d1117; color: #e6edf3; } th, td { border-color: #30363d; } pre { background: #161b22; }
  td.right { color: #3fb950; } td.wrong { color: #f85149; } td.none { color: #8b949e; }
}
"""


def as_html(run: ClientRun) -> str:
    """Return the run as one page without external files. Each scenario opens to its details."""
    title = f"Client conformance: {escape(' '.join(run.command))}"
    rows = "\n".join(_row(result) for result in run.results)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>\n'
        f"<h1>{title}</h1>\n<p>{escape(list(summary(run))[-1])}. Brokers: kafkalet {escape(run.kafkalet_version)} as "
        f"Kafka {escape(run.kafka_version)}. {escape(run.started)}.</p>\n"
        "<table><thead><tr><th>scenario</th><th>role</th><th>verdict</th><th>time</th></tr></thead><tbody>\n"
        f"{rows}\n</tbody></table></body></html>\n"
    )


def _row(result: ClientResult) -> str:
    kind = "right" if result.verdict.is_right else "none" if result.verdict is Verdict.NOT_RUN else "wrong"
    verdict = f"{result.verdict}: {_reason(result)}" if kind == "none" else result.verdict
    parts = [f"<p>{escape(result.claim)}</p><p><small>{escape('; '.join(result.sources))}</small></p>"]
    blocks: list[tuple[str, Sequence[str]]] = [
        ("", list(_texts(result.findings))),
        ("The last requests:", result.requests),
    ]
    if not result.verdict.is_right:
        blocks.append(("The last lines of the client:", result.log))
    for heading, texts in blocks:
        if texts:
            parts.append(f"<p>{heading}</p><pre>{escape(chr(10).join(texts))}</pre>")
    is_open = " open" if kind == "wrong" else ""
    return (
        f"<tr><td><details{is_open}><summary>{escape(result.scenario)}</summary>{''.join(parts)}</details></td>"
        f'<td>{escape(result.role)}</td><td class="{kind}">{escape(verdict)}</td>'
        f"<td>{result.duration_s:.1f} s</td></tr>"
    )
