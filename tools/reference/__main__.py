"""`python -m tools.reference`: bring all pages up to date, and print those that changed."""

import sys

from .pages import pages, up_to_date

for page in pages():
    text = page.read_text(encoding="utf-8")
    if (now := up_to_date(text)) != text:
        page.write_text(now, encoding="utf-8")
        sys.stdout.write(f"{page}\n")
