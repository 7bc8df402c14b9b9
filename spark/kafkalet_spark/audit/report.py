"""Create report.html: the verdict, the disagreements, a table of the logs, and plots of some of them.

The report is a single file without external references. Its size is limited: logs with findings are shown first, then
the largest logs. The report says how many logs are omitted; verdict.json and facts.parquet contain all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from .causes import Cause
from .drawings import moment, number, size
from .facts import numbers
from .partition_audit import PartitionFacts
from .plots import Picture, pictures
from .verdict import Verdict

STYLE = """
:root{color-scheme:light dark;--page:#fbfbfa;--card:#fff;--ink:#1d2330;--soft:#626b7a;--line:#e3e5e9;--data:#2f6fb7;
--committed:#2f8f6b;--aborted:#d0662b;--open:#8a4fbf;--late:#b9861d;--good:#e4f3ec;--good-ink:#17603f;--bad:#fbe6e1;
--bad-ink:#9c2b14}
@media(prefers-color-scheme:dark){:root{--page:#14171c;--card:#1b1f26;--ink:#e6e9ee;--soft:#98a2b3;--line:#2d333d;
--data:#6aa8ea;--committed:#5cc29a;--aborted:#ee9460;--open:#bd8bec;--late:#deb04f;--good:#173429;--good-ink:#8fdcb9;
--bad:#43211a;--bad-ink:#f4ab98}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:1500px;margin:0 auto;padding:24px}
h1{font-size:28px;margin:0 0 4px}
h2{font-size:20px;margin:36px 0 8px;overflow-wrap:anywhere}
p{margin:4px 0;color:var(--soft);overflow-wrap:anywhere}
header{padding:20px 24px;border-radius:10px}
header p{color:inherit}
header.good{background:var(--good);color:var(--good-ink)}
header.bad{background:var(--bad);color:var(--bad-ink)}
span.bad{color:var(--bad-ink);background:var(--bad);border-radius:6px;padding:0 8px;font-size:16px}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:12px;margin:16px 0}
.tiles div{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:10px 14px}
.tiles dt{color:var(--soft);font-size:13px}
.tiles dd{margin:0;font-size:22px}
.scroll{overflow:auto;max-height:70vh;border:1px solid var(--line);border-radius:8px;background:var(--card)}
table{border-collapse:collapse;width:100%;font-size:13px;font-variant-numeric:tabular-nums}
th,td{padding:5px 10px;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}
th{position:sticky;top:0;background:var(--card);color:var(--soft);font-weight:600}
tr:last-child td{border-bottom:0}
.logs td:nth-child(-n+2),.logs th:nth-child(-n+2){text-align:left}
.findings td,.findings th{text-align:left}
.findings td:nth-child(4),.findings td:nth-child(6){white-space:normal;overflow-wrap:anywhere;min-width:220px}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,560px),1fr));gap:16px;margin-top:12px;
align-items:start}
figure{margin:0;background:var(--card);border:1px solid var(--line);border-radius:8px;padding:14px}
figcaption{font-size:13px;color:var(--soft);margin-bottom:8px}
figcaption strong{color:var(--ink);font-size:15px;display:block}
svg{width:100%;height:auto;display:block}
.tick,.name{font:11px system-ui,sans-serif;fill:var(--soft)}
.name{font-style:italic}
.grid{stroke:var(--line)}
.axis{stroke:var(--soft)}
.data{fill:var(--data)}
.late{fill:var(--late)}
.committed{fill:var(--committed)}
.aborted{fill:var(--aborted)}
.open{fill:var(--open)}
.ended{fill:var(--soft)}
.key{display:inline-block;margin-right:12px}
.key::before{content:"";display:inline-block;width:10px;height:10px;margin-right:5px;border-radius:2px}
.key.committed::before{background:var(--committed)}
.key.aborted::before{background:var(--aborted)}
.key.open::before{background:var(--open)}
"""


FINDINGS = 500
LOGS = 1000
PICTURED = 24

COLUMNS: tuple[tuple[str, str, str], ...] = (
    ("log start", "log_start_offset", "the first offset that can be read"),
    ("LSO", "last_stable_offset", "last stable offset: where read_committed ends"),
    ("LEO", "log_end_offset", "log end offset"),
    ("segments", "segments", ""),
    ("size", "size", "size of all segments"),
    ("records", "records", "data records, without transaction markers"),
    ("markers", "markers", "control records"),
    ("aborted", "aborted_records", "records of aborted transactions"),
    ("compacted", "compacted_offsets", "offsets removed by compaction"),
    ("missing", "missing_offsets", "missing offsets without an explanation"),
    ("open txns", "open_transactions", "transactions without a marker"),
    ("keys", "distinct_keys", "approximate number of distinct keys"),
    ("steps back", "timestamps_that_step_back", "records earlier than the previous record"),
)


def page(verdict: Verdict) -> str:
    """Return the whole page as HTML."""
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
    yield "<h2>Disagreements</h2>"
    rows = (_cause(cause, verdict.on_start(cause.finding)) for cause in causes[:FINDINGS])
    heads = ("check", "log", "offset", "file", "byte", "problem", "on its next start, Kafka", "consequences")
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
    """Yield the list of what was checked and what was not."""
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
        yield f"<p>Plots of {left:,} more logs are not shown here.</p>"


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
