"""Pages of the documentation that have a section written from the code."""


def with_section(text: str, title: str, section: str) -> str:
    """Replace what is between a title and the next one in the text of a page."""
    before, _, rest = text.partition(title)
    _, following, after = rest.partition("\n## ")
    return before + title + section + following + after
