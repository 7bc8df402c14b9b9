"""tmp"""


def can_downgrade_without(group, members):
    return False


def downgrade(group, members):
    return 0
