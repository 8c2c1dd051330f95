"""Commands on existing corpora: ``sample``, ``pair``, ``drop``, ``clean``, ``restore`` and ``stats``."""

from __future__ import annotations

from typing import Annotated

import typer

from abcdlink.cleaning import AnswerForm, AskAbout
from abcdlink.cli.output import (
    ByOption,
    DomainOption,
    JsonOption,
    OnlyOption,
    ShortestOption,
    SizeOption,
    conditions,
    listed,
    print_json,
    print_table,
    require_out_or_check,
    say,
    shown,
)
from abcdlink.errors import InputError, counted

CorpusArgument = Annotated[
    str, typer.Argument(help="Corpus folder as `abcdlink import` writes it, or an s3:// prefix.")
]
OutOption = Annotated[str, typer.Option("--out", help="Corpus folder to write, or an s3:// prefix.")]


def sample(
    corpus: CorpusArgument,
    out: OutOption,
    size: SizeOption = None,
    shortest: ShortestOption = None,
    by: ByOption = "",
    only: OnlyOption = None,
    one_source: Annotated[
        bool, typer.Option("--one-source", help="For each target document, only the pair with the shortest source.")
    ] = False,
    targets: Annotated[bool, typer.Option("--targets", help="Draw target documents instead of pairs.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draw.")] = 13,
    domain: DomainOption = "news",
    json: JsonOption = False,
) -> None:
    """Draw pairs (or target documents) from a corpus into a new corpus, which records how they were drawn.

    Example: `abcdlink sample arr22 --out twenty --one-source --shortest 100 --sample 20 --seed 1`
    """
    from abcdlink.corpus.io import ANOTHER_FOLDER, read_corpus, read_origin, refuse_to_replace, with_step
    from abcdlink.corpus.sampling import PairSampling, sample_pairs, sample_targets
    from abcdlink.domain import find_domain
    from abcdlink.preview import write_derived

    how = PairSampling(only=conditions(only), one_source=one_source, shortest=shortest, size=size, by=by, seed=seed)
    whole = read_corpus(corpus)
    _require_another(out, corpus)
    drawn, sampled = sample_targets(whole, how) if targets or not whole.pairs else sample_pairs(whole, how)
    origin = with_step(read_origin(corpus), f"Drawn: {sampled}", sampled=sampled.model_dump(mode="json"))
    refuse_to_replace(out, origin, ANOTHER_FOLDER)
    write_derived(drawn, out, origin, find_domain(domain))
    if json:
        print_json({"corpus": out, **sampled.model_dump(mode="json")})
        return
    say(f"Wrote {out}: {sampled}.")
    for value, (eligible, taken) in sampled.strata.items():
        say(f"  {value or '(no value)'}: {taken} of {eligible}")


def pair(
    corpus: CorpusArgument,
    out: OutOption = "",
    check: Annotated[bool, typer.Option("--check", help="Write nothing; only show what would be paired.")] = False,
    by: Annotated[
        str, typer.Option(help="Comma-separated metadata fields that must have the same value in both.")
    ] = "",
    date: Annotated[str, typer.Option(help="Field with a date, such as 2020-05-31.")] = "",
    days: Annotated[int | None, typer.Option(min=0, help="At most this many days between the two dates.")] = None,
    floor: Annotated[float, typer.Option(min=0, max=1, help="Lowest similarity (TF-IDF cosine).")] = 0.0,
    ceiling: Annotated[float, typer.Option(min=0, max=1, help="Highest similarity.")] = 1.0,
    reprint: Annotated[
        float, typer.Option(min=0.01, max=1, help="Share of eight-word sequences in common that makes one a reprint.")
    ] = 1.0,
    most: Annotated[
        int, typer.Option(min=1, max=1000, help="At most this many sources for a target, the most similar.")
    ] = 1,
    sources: Annotated[
        list[str] | None, typer.Option(help="FIELD=VALUE: which documents can be sources; repeatable.")
    ] = None,
    targets: Annotated[
        list[str] | None, typer.Option(help="FIELD=VALUE: which documents can be targets; repeatable.")
    ] = None,
    domain: DomainOption = "news",
    json: JsonOption = False,
) -> None:
    """Pair unpaired documents by metadata, date or similarity; look at the examples first (--check).

    Example: `abcdlink pair articles --check --by topic --date published --days 3 --floor 0.2 --reprint 0.3`
    """
    from abcdlink.corpus.records import Note
    from abcdlink.domain import find_domain
    from abcdlink.pairing import PairingRule, paired
    from abcdlink.stages.corpora import run_pairing, shown_examples

    require_out_or_check(out, check=check)
    _require_another(out, corpus)
    rule = PairingRule(
        by=tuple(listed(by)),
        sources=conditions(sources),
        targets=conditions(targets),
        date=date,
        days=days,
        floor=floor,
        ceiling=ceiling,
        reprint=reprint,
        most=most,
    )
    whole, pairing = run_pairing(corpus, out, rule, find_domain(domain))
    pairs = pairing.pairs()
    if json:
        print_json(
            {
                "corpus": out or None,
                "pairs": len(pairs),
                "refused": len(pairing.refused),
                "verdicts": pairing.counts,
                "examples": [one.model_dump(mode="json") for one in pairing.examples()],
            }
        )
        return
    rows = [tuple(row.values()) for row in shown_examples(whole, pairing)]
    if rows:
        print_table("Examples", ("what", "source", "target", "similarity", "shared"), rows, texts=3)
    say("; ".join(f"{count} {verdict}" for verdict, count in pairing.counts.items()) or "no two documents fit the rule")
    for refusal in pairing.refused[:5]:
        say(f"  left out: {refusal.line}")
    say(str(Note.of("Documents without a partner", paired(whole, pairing).unpaired)))
    left_out = counted(len(pairing.refused), "document")
    say(f"{f'Wrote {out}' if out else 'Would write'}: {counted(len(pairs), 'pair')}. Left out: {left_out}.")


def drop(
    corpus: CorpusArgument,
    name: Annotated[str, typer.Option(help="Name of the file; default: the corpus's.")] = "",
) -> None:
    """Put the pairs of a corpus as one file where new data is awaited (ABCDLINK_DROPS_SOURCE).

    Example: `abcdlink drop tuesday`
    """
    from abcdlink.corpus.formats.jsonl import whole_pairs
    from abcdlink.corpus.io import read_corpus
    from abcdlink.folders import open_folder
    from abcdlink.settings import get_settings

    drops = get_settings().drops_source
    if not drops:
        msg = "no place for new data is set"
        raise InputError(msg, "set ABCDLINK_DROPS_SOURCE and ABCDLINK_DROPS_RUN in .env")
    read = read_corpus(corpus)
    if not read.pairs:
        msg = f"{corpus} has no pairs"
        raise InputError(msg, f"find pairs with `abcdlink pair {corpus} --out FOLDER`")
    folder, file = open_folder(drops), f"{name or read.name}.jsonl"
    folder.write(file, whole_pairs(read))
    say(f"Wrote {folder.where(file)}: {counted(len(read.pairs), 'pair')}.")
    say("They are taken in within the hour; `abcdlink run drops --wait` does it now.")


def _require_another(out: str, corpus: str) -> None:
    """Raise ``InputError`` when a corpus would be written over the one that it is made from."""
    from abcdlink.folders import open_folder

    if out and open_folder(out).where() == open_folder(corpus).where():
        msg = f"{out} is the corpus itself"
        raise InputError(msg, "give another folder, so that nothing is lost")


def clean(
    corpus: Annotated[
        str,
        typer.Argument(help="Corpus folder or s3:// prefix, or a folder of text files that are not imported yet."),
    ],
    out: Annotated[str, typer.Option("--out", help="Folder to write: a corpus or text files, like the input.")],
    ask: Annotated[
        AskAbout, typer.Option(help="Which documents to ask the LLM about after the rules.")
    ] = AskAbout.SUSPICIOUS,
    form: Annotated[
        AnswerForm, typer.Option(help="numbers: it lists the sentences to remove; article: it returns the article.")
    ] = AnswerForm.NUMBERS,
    domain: DomainOption = "news",
    json: JsonOption = False,
) -> None:
    """Remove captions, share lines and other web-page leftovers from documents; what stays is never changed.

    The domain's rules come first; the LLM with the role cleaner is asked where something suspicious is left. Look at
    removed.html in the new folder; `abcdlink restore` puts back what was removed. A corpus loses sentences. A folder
    of text files loses lines, before it is split into sentences: import the new folder afterwards.

    Example: `abcdlink clean articles --out clean-articles --domain news`
    """
    from abcdlink.cleaning import CleaningPlan
    from abcdlink.corpus.formats.text_files import PAGE
    from abcdlink.domain import find_domain
    from abcdlink.folders import open_folder
    from abcdlink.progress import terminal
    from abcdlink.stages.corpora import run_cleaning

    with terminal() as progress:
        counts = run_cleaning(corpus, out, find_domain(domain), CleaningPlan(ask=ask, form=form), progress)
    if json:
        print_json({"corpus": out, **counts.model_dump(mode="json")})
        return
    say(f"Wrote {out}: {counts}.")
    for reason, number in counts.refused.items():
        say(f"  answers on {number} documents rejected: {reason}")
    say(f"What was removed: {open_folder(out).where(PAGE)}")


def restore(
    corpus: CorpusArgument,
    document: Annotated[
        list[str] | None, typer.Option(help="Id of a document to restore; repeatable; default: all.")
    ] = None,
    domain: DomainOption = "news",
) -> None:
    """Put back the sentences or lines that `abcdlink clean` removed.

    Example: `abcdlink restore clean-articles --document "Bridge closes"`
    """
    from abcdlink.domain import find_domain
    from abcdlink.stages.corpora import run_restore

    say(f"Put back: {run_restore(corpus, find_domain(domain), tuple(document or ()))}.")


def stats(
    corpora: Annotated[list[str], typer.Argument(help="Corpus folders or s3:// prefixes.")],
    json: JsonOption = False,
) -> None:
    """Count sentences, links and clusters of links of corpora, side by side (Table 1 of the paper and more).

    Example: `abcdlink stats corpus .abcdlink/runs/spring/synthetic`
    """
    from abcdlink.corpus.counts import count
    from abcdlink.corpus.io import read_corpus

    counts = {name: count(read_corpus(name)) for name in dict.fromkeys(corpora)}
    if json:
        print_json({name: one.model_dump(mode="json") for name, one in counts.items()})
        return
    rows = [one.rows for one in counts.values()]
    table = [(name, *(shown(name, row[name]) for row in rows)) for name in rows[0]]
    print_table("Counts", ("", *counts), table)
