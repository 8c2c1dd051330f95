"""Reads WikinewsSum (Calizzano et al., 2022): articles of Wikinews and the web pages that they are based on.

JSON Lines, in ``train.json``, ``validation.json`` and ``test.json`` or one file, each line with ``language``,
``title``, ``news`` (the article, a passage a line, or a list of passages) and ``sources`` (``language``, ``text``,
``url``). An article is a target document, named by its title (``<title>@2`` where another one has it); each page in
its language is a source document of it.
"""

from __future__ import annotations

from collections import Counter

from pydantic import ConfigDict, Field

from abcdlink.corpus.builder import CorpusBuilder
from abcdlink.corpus.formats.files import ImportSource, holds_nul, open_file
from abcdlink.corpus.records import Corpus, Note, Pair, Record
from abcdlink.errors import InputError
from abcdlink.store import decoded_lines


class _Loose(Record):
    model_config = ConfigDict(extra="ignore")


class _Page(_Loose):
    language: str = ""
    text: str | None = None
    url: str | None = None


class _Article(_Loose):
    title: str = Field(min_length=1)
    news: str | list[str]
    language: str = ""
    sources: tuple[_Page, ...] = ()


def read_wikinewssum(given: ImportSource) -> Corpus:
    """Read a folder with ``.json`` files, or one of them; pages without text or in another language are left out.

    Raises:
        InputError: when there is no such file, or one is not UTF-8.
    """
    files = [given.path] if given.path.is_file() else sorted(given.path.glob("*.json"))
    if not files:
        msg = f"{given.path} contains no .json file"
        raise InputError(msg, "give the folder with train.json, validation.json and test.json")
    builder = CorpusBuilder(given.name)
    foreign: list[str] = []
    titles: Counter[str] = Counter()
    for path in files:
        with open_file(given.file(path)) as file:
            for number, line in decoded_lines(file, str(path)):
                if "\0" in line:
                    raise holds_nul(path)
                where = f"{path}, line {number}"
                with builder.refusing(where):
                    article = _Article.model_validate_json(line)
                    titles[article.title] += 1
                    name = article.title if titles[article.title] == 1 else f"{article.title}@{titles[article.title]}"
                    _add(builder, given, where, article.model_copy(update={"title": name}), foreign)
    if foreign:
        builder.note(Note.of("Source pages in another language than their article, which were left out", foreign))
    return builder.build()


def _add(builder: CorpusBuilder, given: ImportSource, where: str, article: _Article, foreign: list[str]) -> None:
    about = {"language": article.language, "title": article.title}
    meta = {name: value for name, value in about.items() if value}
    if not given.wants(meta):
        return
    news = article.news if isinstance(article.news, str) else "\n".join(article.news)
    target = given.texts.document(article.title, news, meta=meta)
    usable = [page for page in article.sources if page.text and page.text.strip()]
    same = [page for page in usable if page.language == article.language]
    foreign += [page.url or article.title for page in usable if page.language != article.language]
    if given.choices.targets or not same:
        builder.add_lone_document(where, target)
        return
    for number, page in enumerate(same, start=1):
        name = article.title if len(same) == 1 else f"{article.title} ({number})"
        with builder.refusing(f"{where}, source {number}"):
            source = given.texts.document(
                f"{name}_source", page.text or "", meta=meta | ({"url": page.url} if page.url else {})
            )
            builder.add_whole_pair(where, source, target, Pair(id=name, source=source.id, target=target.id))
