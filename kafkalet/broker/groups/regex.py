"""tmp"""

import re


class BadRegex(ValueError):
    pass


def compile_regex(e):
    try:
        return re.compile(e).fullmatch
    except re.error as x:
        raise BadRegex(str(x))
