"""All rules: their claims, and that they accept any sequence of events."""

import pytest

from kafkalet.protocol.api import Api
from kafkalet_conformance.clients.observing.finding import Claim
from kafkalet_conformance.clients.observing.rules.catalog import RULES, claims
from kafkalet_conformance.clients.observing.rules.rule import Rule
from kafkalet_conformance.clients.observing.sent import Closed, Fate
from tests.unit.conformance.clients.observing.test_strict import minimal

from .synthetic import Exchanges


@pytest.mark.parametrize("claim", claims(), ids=lambda claim: f"{claim.rule}-{claim.severity}")
def test_every_claim_is_one_sentence_with_a_source(claim: Claim) -> None:
    assert claim.text.endswith(".")
    assert ". " not in claim.text
    assert claim.source


def test_names_of_claims_are_unique() -> None:
    assert len({rule.CLAIM.rule for rule in RULES}) == len(RULES)


@pytest.mark.parametrize("rule", RULES)
def test_rule_accepts_a_request_of_every_version_without_a_usable_response(rule: type[Rule]) -> None:
    exchanges = Exchanges(rule())
    for api in Api:
        if api.client_facing:
            for version in range(api.versions.low, api.versions.high + 1):
                sent = exchanges.sends(minimal(api), version)
                sent.answer, sent.fate = [b"\0\0\0\0garbage"], Fate.ANSWERED
                list(exchanges.rule.answered(sent))
    list(exchanges.rule.closed(Closed(1, 0.0, "reset")) or ())
