"""Regular expressions in RE2 syntax, matched in linear time.

    automaton   matches texts against an expression
    syntax      parses an expression
    tree        the syntax tree of an expression
    classes     character classes

Other packages import only `automaton`.
"""
