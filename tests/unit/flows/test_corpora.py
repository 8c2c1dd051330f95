"""The form of the flow pair offers the library's rule."""

from __future__ import annotations

from prefect.utilities.callables import parameter_schema

from abcdlink.pairing import PairingRule
from flows.corpora import pair


def test_the_form_offers_and_explains_every_field_of_the_rule() -> None:
    schema = parameter_schema(pair.fn)
    (rule,) = (one for one in schema.definitions.values() if one["title"] == "PairingRule")
    assert set(rule["properties"]) == set(PairingRule.model_fields)
    assert all(one["description"] for one in rule["properties"].values())
    assert schema.required == ["corpus", "rule"]
