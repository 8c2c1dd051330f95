"""Corpora of any texts, for property tests."""

from __future__ import annotations

from hypothesis import strategies as st

from abcdlink.corpus.records import Corpus, Document, Pair, PairKind, Refusal, Sentence

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20).filter(
    str.strip
)
sentence_lists = st.dictionaries(names, texts, min_size=1, max_size=4)


@st.composite
def corpora(draw) -> Corpus:
    drawn = draw(st.dictionaries(names, sentence_lists, min_size=1, max_size=4))
    documents = {
        name: Document(
            id=name, sentences=(Sentence(id="\u2028.", text="x"), *(Sentence(id=f"{i}.", text=t) for i, t in s.items()))
        )
        for name, s in drawn.items()
    }
    pairs = []
    for name in draw(st.sets(names, max_size=4)):
        source, target = draw(st.sampled_from(list(documents))), draw(st.sampled_from(list(documents)))
        targets = st.lists(st.sampled_from(sorted(documents[target].position)), unique=True).map(tuple)
        links = draw(st.none() | st.dictionaries(st.sampled_from(sorted(documents[source].position)), targets))
        pairs.append(Pair(id=name, source=source, target=target, kind=draw(st.sampled_from(PairKind)), links=links))
    return Corpus(name="any", documents=documents, pairs=pairs, refused=[Refusal(where="w", reason=draw(texts))])
