"""Rules that map the names in certificates to principals."""

import pytest

from kafkalet.broker.security.principal_mapping import PrincipalMapping, UnmappedName

NAME = "CN=Duke,OU=ServiceUsers,O=Org,C=US"


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ("DEFAULT", NAME),
        ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/", "Duke"),
        ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/L,DEFAULT", "duke"),
        ("RULE:^CN=(.*?),OU=Other.*$/$1/L , DEFAULT", NAME),
        ("RULE:^cn=(.*?),.*$/$1/,RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/U", "DUKE"),
    ],
)
def test_first_rule_that_applies_determines_the_name(rules: str, expected: str) -> None:
    assert PrincipalMapping(rules).name_of(NAME) == expected


def test_name_without_rule_is_not_mapped() -> None:
    with pytest.raises(UnmappedName, match=r"No rules apply to CN=Duke,.*, rules \[RULE:\^CN=Admin\$/admin\]"):
        PrincipalMapping("RULE:^CN=Admin$/admin/").name_of(NAME)
