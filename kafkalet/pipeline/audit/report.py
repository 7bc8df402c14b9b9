"""report.html: the verdict, what is wrong, a table of the logs, and pictures of some of them.

One file that refers to nothing else. However many logs there are, it stays small enough for a browser: those with
findings come first, then the large ones; what is left out is counted, and is in verdict.json and facts.parquet.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from .causes import Cause
from .drawings import moment, number, size
from .facts import numbers
from .partition_audit import PartitionFacts
from .plots import Picture, pictures
from .report_style import STYLE
from .verdict import Verdict

FINDINGS = 500
LOGS = 1000
PICTURED = 24

COLUMNS: tuple[tuple[str, str, str], ...] = (
    ("log start", "log_start_offset", "the first offset that can be read"),
    ("LSO", "last_stable_offset", "last stable offset: where read_committed ends"),
    ("LEO", "log_end_offset", "log end offset"),
    ("segments", "segments", ""),
    ("size", "size", "of all segments"),
    ("records", "records", "data, without markers"),
    ("markers", "markers", "control records"),
    ("aborted", "aborted_records", "records of aborted transactions"),
    ("compacted", "compacted_offsets", "offsets that a cleaner has taken out"),
    ("missing", "missing_offsets", "offsets that nobody explains"),
    ("open txns", "open_transactions", "transactions without a marker"),
    ("keys", "distinct_keys", "distinct keys, about"),
    ("steps back", "timestamps_that_step_back", "records earlier than the one before"),
)


def page(verdict: Verdict) -> str:
    """The whole document."""
    ordered = sorted(verdict.partitions, key=lambda facts: (facts.findings.total == 0, -facts.log.size_bytes))
    parts = [
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>kafkalet audit: {escape(verdict.word)}</title><style>{STYLE}</style></head><body><main>",
        *_head(verdict),
        *_findings(verdict),
        *_coverage(verdict),
        *_logs(ordered),
        *_pictures(ordered),
        "</main></body></html>\n",
    ]
    return "".join(parts)


def _head(verdict: Verdict) -> Iterator[str]:
    kind = "good" if verdict.agrees else "bad"
    mark = "✓" if verdict.agrees else "✗"
    word = escape(verdict.word.capitalize())
    yield f'<header class="{kind}"><h1><span aria-hidden="true">{mark}</span> {word}</h1>'
    yield f"<p>{escape(verdict.summary)}</p>"
    if verdict.compared is not None:
        yield f"<p>{escape(str(verdict.compared))}</p>"
    yield "</header>"
    tiles = (
        ("partitions", number(len(verdict.partitions))),
        ("segments", number(verdict.total("segments"))),
        ("size", size(verdict.total("size"))),
        ("records", number(verdict.total("records"))),
        ("transactions aborted", number(verdict.total("aborted_transactions"))),
        ("transactions open", number(verdict.total("open_transactions"))),
        ("offsets compacted", number(verdict.total("compacted_offsets"))),
        ("offsets missing", number(verdict.total("missing_offsets"))),
    )
    yield '<dl class="tiles">'
    for name, value in tiles:
        yield f"<div><dt>{name}</dt><dd>{value}</dd></div>"
    yield "</dl>"


def _findings(verdict: Verdict) -> Iterator[str]:
    causes = verdict.causes
    if not causes:
        return
    yield "<h2>What disagrees</h2>"
    rows = (_cause(cause, verdict.on_start(cause.finding)) for cause in causes[:FINDINGS])
    heads = ("check", "log", "offset", "file", "byte", "what", "on its next start, Kafka", "consequences")
    yield _table(heads, rows, "findings")
    more = max(verdict.disagreements - min(len(causes), FINDINGS), 0)
    if more:
        yield f"<p>{more:,} more are not shown here.</p>"


def _cause(cause: Cause, on_start: str) -> Sequence[str]:
    finding = cause.finding
    offset = "" if finding.offset is None else f"{finding.offset:,}"
    position = "" if finding.position is None else f"{finding.position:,}"
    log = "" if finding.topic is None else f"{finding.topic}-{finding.partition}"
    following = next(cause.lines(), "")
    return (finding.check, log, offset, finding.file or "", position, finding.message, on_start, following)


def _coverage(verdict: Verdict) -> Iterator[str]:
    """What was looked at, and what was not."""
    yield "<h2>What was checked</h2><ul>"
    for line in verdict.coverage.lines():
        yield f"<li>{escape(line)}</li>"
    if verdict.compared is not None:
        for line in verdict.compared.explained:
            yield f"<li>explained: {escape(line)}</li>"
    yield "</ul>"


def _logs(ordered: Sequence[PartitionFacts]) -> Iterator[str]:
    yield "<h2>Logs</h2>"
    heads = ["", "log", *(name for name, _, _ in COLUMNS), "from", "to"]
    yield _table(heads, (_log(facts) for facts in ordered[:LOGS]), "logs", {name: told for name, _, told in COLUMNS})
    if len(ordered) > LOGS:
        yield f"<p>{len(ordered) - LOGS:,} more are not shown here.</p>"


def _log(facts: PartitionFacts) -> Sequence[str]:
    told = numbers(facts)
    cells = [size(told[name]) if name == "size" else f"{told[name]:,}" for _, name, _ in COLUMNS]
    span = ("", "")
    if facts.times.first >= 0:
        span = moment(facts.times.smallest), moment(facts.times.largest)
    mark = "✓" if facts.findings.total == 0 else f"✗ {facts.findings.total:,}"
    return (mark, facts.log.name, *cells, *span)


def _pictures(ordered: Sequence[PartitionFacts]) -> Iterator[str]:
    drawn = [facts for facts in ordered if facts.records][:PICTURED]
    for facts in drawn:
        mark = "" if facts.findings.total == 0 else f' <span class="bad">✗ {facts.findings.total:,}</span>'
        yield f"<section><h2>{escape(facts.log.name)}{mark}</h2><p>{escape(facts.log.path)}</p>"
        codecs = ", ".join(
            f"{name}: {records:,} records in {entries:,} batches, {size(length)}"
            for name, (entries, records, length) in facts.sizes.codecs().items()
        )
        yield f"<p>{escape(codecs)}</p>"
        yield '<div class="plots">'
        yield from map(_figure, pictures(facts))
        yield "</div></section>"
    left = sum(1 for facts in ordered if facts.records) - len(drawn)
    if left:
        yield f"<p>Of {left:,} more logs there are no pictures here.</p>"


def _figure(picture: Picture) -> str:
    legend = "".join(f'<span class="key {kind}">{escape(name)}</span>' for kind, name in picture.legend)
    return (
        f"<figure><figcaption><strong>{escape(picture.title)}</strong> {escape(picture.explanation)} {legend}"
        f"</figcaption>{picture.svg}</figure>"
    )


def _table(heads: Iterable[str], rows: Iterable[Sequence[str]], kind: str, titles: dict[str, str] | None = None) -> str:
    told = titles or {}
    head = "".join(
        f'<th title="{escape(told[name])}">{escape(name)}</th>' if told.get(name) else f"<th>{escape(name)}</th>"
        for name in heads
    )
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return (
        f'<div class="scroll"><table class="{kind}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    )
