"""How report.html looks, in light and in dark."""

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
