"""Rules that map the names in certificates to principals."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalet.broker.security.tls.principal_mapping import PrincipalMapping, UnmappedName
from kafkalet.properties import InvalidProperty

NAME = "CN=Duke,OU=ServiceUsers,O=Org,C=US"


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ("DEFAULT", NAME),
        ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/", "Duke"),
        ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/L,DEFAULT", "duke"),
        ("RULE:^CN=(.*?),OU=Other.*$/$1/L , DEFAULT", NAME),
        (" RULE:^cn=(.*?),.*$/$1/\n,\nRULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/U ", "DUKE"),
        ("RULE:^CN=(.*?),OU=(.*?),.*$/$1@$2\\//U", "DUKE@SERVICEUSERS/"),
        ("RULE:^CN=(.*?),.*$/$1$2/", "Duke$2"),
        ("RULE:^CN=(.*?),.*$/$12/", "Duke2"),
        ("RULE:^.*$/all/", "all"),
        ("RULE:.*/x/", "xx"),  # the empty match at the end is also replaced, as in Java
        ("RULE:^CN=(.*),OU=(.*),O=(.*),C=(.*)$/$4$3$2$1$5/", "USOrgServiceUsersDuke$5"),
        (",,DEFAULT,", NAME),
    ],
)
def test_first_rule_that_applies_determines_the_name(rules: str, expected: str) -> None:
    assert PrincipalMapping(rules).name_of(NAME) == expected


@pytest.mark.parametrize("rules", ["", "RULE:^CN=Admin$/admin/", "RULE:^CN=Duke/x/", "RULE:CN=.*/$5/,DEFAULT"])
def test_name_without_rule_is_not_mapped(rules: str) -> None:
    """A pattern has to match the whole name. A reference to a group is an error if the pattern has no groups."""
    with pytest.raises(UnmappedName):
        PrincipalMapping(rules).name_of(NAME)


def test_message_names_the_rules() -> None:
    rules = "RULE:^CN=Admin$/admin/,RULE:^CN=(x)$/$1/L,RULE:^OU=(x)$/$1/U"
    expected = f"No rules apply to {NAME}, rules [RULE:^CN=Admin$/admin, RULE:^CN=(x)$/$1/L, RULE:^OU=(x)$/$1/U]"
    with pytest.raises(UnmappedName, match=re.escape(expected)):
        PrincipalMapping(rules).name_of(NAME)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("default", "Invalid rule: `default`, unmatched substring: `default`. A rule is DEFAULT or RULE:"),
        ("DEFAULT/L", "Invalid rule: `DEFAULT/L`, unmatched substring: `/L`"),
        ("RULE:CN=(.*)/$1/X", "Invalid rule: `RULE:CN=(.*)/$1/X`, unmatched substring: `X`"),
        ("RULE:CN=(.*)/$1", "unmatched substring: `RULE:CN=(.*)/$1`"),
        ("RULE:(/x/", "the pattern ( is not supported: missing )"),
    ],
)
def test_invalid_rule_is_refused(rules: str, message: str) -> None:
    with pytest.raises(InvalidProperty, match=re.escape(message)) as raised:
        PrincipalMapping(rules)
    assert raised.value.name == "ssl.principal.mapping.rules"


@given(st.text(st.sampled_from("RULE:DEFAULT/(.*?)$12\\,LU^[a]{} \n")) | st.text(), st.text())
def test_any_rules_map_a_name_or_are_refused(rules: str, name: str) -> None:
    try:
        result = PrincipalMapping(rules).name_of(name)
    except (InvalidProperty, UnmappedName):
        return
    assert isinstance(result, str)


@given(st.text())
def test_default_keeps_any_name(name: str) -> None:
    assert PrincipalMapping().name_of(name) == name
