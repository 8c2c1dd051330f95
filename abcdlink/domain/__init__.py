"""What a link means in one domain: settings, texts and prompts that people write, not code."""

from abcdlink.domain.folder import (
    SHIPPED,
    Domain,
    domain_of,
    find_domain,
    in_setting,
    make_domain,
    own_domains,
    targets_of,
)
from abcdlink.domain.settings import (
    DomainSettings,
    GenerationSettings,
    LinkExample,
    PoolSizes,
    SentenceFilter,
    Setting,
    Shape,
    SourceFilter,
    TopicExample,
    ValidationThresholds,
)

__all__ = [
    "SHIPPED",
    "Domain",
    "DomainSettings",
    "GenerationSettings",
    "LinkExample",
    "PoolSizes",
    "SentenceFilter",
    "Setting",
    "Shape",
    "SourceFilter",
    "TopicExample",
    "ValidationThresholds",
    "domain_of",
    "find_domain",
    "in_setting",
    "make_domain",
    "own_domains",
    "targets_of",
]
