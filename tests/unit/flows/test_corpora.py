"""The form of the flow pair: what it offers is the rule of the library, and a wrong rule is one sentence."""

from __future__ import annotations

import pytest
from prefect.utilities.callables import parameter_schema

from abcdlink.errors import InputError
from abcdlink.pairing import PairingRule
from flows.corpora import pair


def test_the_form_offers_every_field_of_the_rule_and_what_it_means() -> None:
    schema = parameter_schema(pair.fn)
    (rule,) = (one for one in schema.definitions.values() if one["title"] == "PairingRule")
    assert set(rule["properties"]) == set(PairingRule.model_fields)
    assert all(one["description"] for one in rule["properties"].values())
    assert schema.required == ["corpus", "rule"]


def test_a_rule_that_says_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="nothing says which documents make a pair"):
        pair.validate_parameters({"corpus": "articles", "rule": {}})
