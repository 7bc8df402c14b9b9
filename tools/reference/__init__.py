"""Write the parts of the documentation that come from the code, so that they can be read without building the site.

    python -m tools.reference

A page has a pair of comments for each part: `<!-- generated: help kafkalet serve -->` and `<!-- end -->`. The text
between them is what `help`, a key of BLOCKS (pages.py), returns for the other words. Everything else in a page is
written by hand. A test fails if a page is out of date.
"""
