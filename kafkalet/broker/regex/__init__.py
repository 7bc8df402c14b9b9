"""Regular expressions in RE2 syntax, matched in linear time.

    automaton   matches texts
    syntax      reads an expression
    tree        an expression as a tree
    classes     classes of characters

Callers use `automaton` alone.
"""
