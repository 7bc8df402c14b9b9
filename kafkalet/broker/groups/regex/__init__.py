"""Regular expressions in RE2 syntax, matched in linear time.

automaton   matches texts; the door to the others
syntax      reads an expression
tree        an expression as a tree
classes     classes of characters
"""
