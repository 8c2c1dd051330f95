"""The linker of an approach."""

from __future__ import annotations

from typing import TYPE_CHECKING

from abcdlink.domain import Domain
from abcdlink.linking.alone import AloneLinker
from abcdlink.linking.linker import Linker
from abcdlink.linking.listwise import ListwiseLinker
from abcdlink.linking.pairwise import PairwiseLinker
from abcdlink.linking.records import Approach, Setup

if TYPE_CHECKING:
    from abcdlink.llm.client import LLM

LINKERS: dict[Setup, type[Linker]] = {
    Setup.LISTWISE: ListwiseLinker,
    Setup.PAIRWISE: PairwiseLinker,
    Setup.ALONE: AloneLinker,
}


def linker_for(domain: Domain, llm: LLM, approach: Approach) -> Linker:
    """Return what lets an LLM decide as an approach says.

    Raises:
        InputError: when the approach asks no LLM.
    """
    return LINKERS[approach.setup](domain, llm, approach)
