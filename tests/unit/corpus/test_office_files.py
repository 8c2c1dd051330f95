"""Documents as people have them: Word, PDF, saved web pages, Excel."""

from __future__ import annotations

import io
from collections import Counter
from contextlib import suppress
from datetime import date

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abcdlink.cleaning import AskAbout, CleaningPlan, text_folder
from abcdlink.corpus.formats.spreadsheets import excel_rows
from abcdlink.corpus.formats.text_files import read_document
from abcdlink.errors import InputError
from abcdlink.stages.corpora import run_cleaning
from tests.helpers.office import paragraph, pdf, row, run, word
from tests.helpers.outside_files import files, load, reasons

LETTER = ("Dear council,", "the last bus leaves before the late shift at the docks", "ends. Nobody can get home.")


def texts(folder, name):
    return load("text", folder).documents[name].texts


def test_a_word_file_is_what_its_reader_sees(tmp_path):
    changed = paragraph(
        run("The fare rises "),
        f'<w:ins w:id="1" w:author="x">{run("in May")}</w:ins>',
        '<w:del w:id="2" w:author="x"><w:r><w:delText>in June</w:delText></w:r></w:del>',
        '<w:r><w:footnoteReference w:id="1"/></w:r>',
        run(". Dogs &lt;b&gt;travel&lt;/b&gt; free &amp;amp; safe."),
    )
    broken = paragraph(run("Second line."), "<w:r><w:br/></w:r>", run("third &amp; last"))
    contents = paragraph('<w:pPr><w:pStyle w:val="Contents1"/></w:pPr>', run("Fares\t3"))
    body = word(contents, changed, broken, paragraph(), footnote="See the minutes.")
    assert texts(files(tmp_path, {"a.docx": body}), "a") == [
        "The fare rises in May.",
        "Dogs <b>travel</b> free & safe.",
        "Second line.",
        "third & last",
        "See the minutes.",
    ]


def test_a_row_of_a_table_is_one_sentence_unless_its_cells_hold_sentences(tmp_path):
    table = f"<w:tbl>{row('Night', 'Passengers')}{row('Ref.', '31')}{row('Too late. We wait.', 'Noted.')}</w:tbl>"
    page = (
        "<table><tr><th>Night</th><th>Riders</th></tr><tr><td>Friday</td><td></td><td> 58 </td></tr></table><p>So.</p>"
    )
    folder = files(tmp_path, {"a.docx": word(table), "b.html": page})
    assert texts(folder, "a") == ["| Night | Passengers |", "| Ref. | 31 |", "Too late.", "We wait.", "Noted."]
    assert texts(folder, "b") == ["| Friday | 58 |", "So."]


def test_the_pages_of_a_pdf_are_one_text_without_what_stands_on_each_of_them(tmp_path):
    pages = [
        ("Harbour report", *LETTER, "The office has promised a third bus, which is to leave", "Draft of May", "1"),
        ("Harbour report", "at twenty to three. It costs nothing.", "Draft of May", "2"),
        ("Harbour report", "Nobody asked for more.", "Draft of May", "3"),
        (),
    ]
    corpus = load("text", files(tmp_path, {"a.pdf": pdf(("Contents", "Costs . . . . . . 3"), *pages)}))
    assert corpus.documents["a"].texts == [
        "Contents",
        "Dear council, the last bus leaves before the late shift at the docks ends.",
        "Nobody can get home.",
        "The office has promised a third bus, which is to leave at twenty to three.",
        "It costs nothing.",
        "Nobody asked for more.",
    ]
    assert [str(note) for note in corpus.notes if "Pages" in note.what] == [
        f"Pages without text, which are blank or pictures: 1 ({tmp_path / 'a.pdf'}, page 5)"
    ]


def test_sentences_at_the_same_place_of_two_pages_stay(tmp_path):
    same = ("Nobody has answered.",)
    folder = files(tmp_path, {"a.pdf": pdf(("One is late.", *same), ("Two is late.", *same), ("It ends here.",))})
    assert texts(folder, "a").count("Nobody has answered.") == 2


def test_documents_of_all_kinds_make_pairs_and_a_copy_is_left_out(tmp_path):
    folder = files(
        tmp_path,
        {
            "x.source.docx": word(paragraph(run("One."))),
            "x.target.PDF": pdf(["Two."]),
            "y.source.htm": "<p>Three.</p>",
            "y.target.txt": "Four.",
            "y.target.pdf": pdf(["Something else."]),
            "README.md": "What this is.",
        },
    )
    corpus = load("text", folder)
    assert [(p.id, corpus.source_of(p).texts, corpus.target_of(p).texts) for p in corpus.pairs] == [
        ("x", ["One."], ["Two."]),
        ("y", ["Three."], ["Four."]),
    ]
    assert "as the same document is there with another ending: 1 (y.target.pdf)" in str(corpus.notes[0])
    table = "source,target\nx.target.pdf,y.source\ny.target.docx,x.source.docx\nz.html,y.source\n"
    corpus = load("text", files(folder, {"pairs.csv": table, "z.html.txt": "Five."}))
    assert [(p.source, p.target) for p in corpus.pairs] == [
        ("x.target", "y.source"),
        ("y.target", "x.source"),
        ("z.html", "y.source"),
    ]


def test_two_folders_make_pairs_of_files_with_one_name(tmp_path):
    folder = files(
        tmp_path, {"Sources/a/1.txt": "One.", "targets/a/1.pdf": pdf(["Two."]), "targets/2.htm": "<p>Three."}
    )
    corpus = load("text", folder)
    assert [(p.id, p.source, p.target) for p in corpus.pairs] == [("a/1", "Sources/a/1", "targets/a/1")]
    assert reasons(corpus) == ["there is no sources/2 to pair it with"]
    assert list(load("text", folder, targets=True).documents) == ["targets/2", "targets/a/1"]
    unnamed = load("text", files(tmp_path / "other", {"papers/1.txt": "A.", "reviews/1.txt": "B."}))
    assert "named neither source nor target: 2 (papers/1.txt, reviews/1.txt)" in str(unnamed.notes[0])


def test_a_file_that_cannot_be_read_is_refused_with_what_to_do(tmp_path):
    folder = files(
        tmp_path, {"a.docx": b"old", "b.pdf": b"%PDF-1.7", "c.pdf": pdf([]), "d.html": "<p></p>", "e.txt": "E."}
    )
    corpus = load("text", folder)
    assert list(corpus.documents) == ["e"]
    assert reasons(corpus) == [
        f"{folder / 'a.docx'} cannot be read as a Word file: File is not a zip file",
        f"{folder / 'b.pdf'} cannot be read as a PDF: Failed to load document (PDFium: Data format error)",
        f"{folder / 'c.pdf'} has no text, only pictures",
        "document 'd' has no sentences",
    ]


def test_a_pdf_that_runs_from_right_to_left_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("pypdfium2.PdfTextPage.get_text_range", lambda _: "תיריעה העידוה")
    with pytest.raises(InputError, match="does not keep the order of its letters"):
        read_document(files(tmp_path, {"a.pdf": pdf(["One."])}) / "a.pdf")


@pytest.mark.parametrize("name", ["a.docx", "a.pdf"])
@given(data=st.data())
def test_a_damaged_file_is_read_or_refused(tmp_path_factory, name, data):
    whole = pdf(LETTER, ["The end."]) if name.endswith("pdf") else word(paragraph(run("One. Two.")), footnote="Three.")
    at = data.draw(st.integers(0, len(whole) - 1))
    damaged = whole[:at] + data.draw(st.binary(max_size=8)) + whole[at + data.draw(st.integers(0, 40)) :]
    path = files(tmp_path_factory.mktemp("damaged"), {name: damaged}) / name
    with suppress(InputError):
        assert read_document(path)


def test_a_clean_copy_of_word_and_pdf_is_plain_text_and_each_file_is_read_once(tmp_path, news, monkeypatch):
    body = word(paragraph(run("Share this")), paragraph(run("It rained.")))
    there = {"x.source.docx": body, "x.target.pdf": pdf(["Rain fell."]), "scan.pdf": pdf([""])}
    folder, read = files(tmp_path / "in", there), Counter()
    monkeypatch.setattr(text_folder, "read_document", lambda path: read.update([path.name]) or read_document(path))
    counts = run_cleaning(str(folder), str(tmp_path / "out"), news, CleaningPlan(ask=AskAbout.NONE))
    assert str(counts).endswith("; files without text that can be read, copied as they are: 1")
    assert read == dict.fromkeys(there, 1)
    assert (tmp_path / "out" / "scan.pdf").read_bytes() == there["scan.pdf"]  # an import refuses it and says why
    corpus = load("text", tmp_path / "out")
    assert {name: document.texts for name, document in corpus.documents.items()} == {
        "x.source": ["It rained."],
        "x.target": ["Rain fell."],
    }


def book(**sheets):
    made = openpyxl.Workbook()
    made.remove(made.active)
    for title, rows in sheets.items():
        sheet = made.create_sheet(title)
        for cells in rows:
            sheet.append(cells)
    data = io.BytesIO()
    made.save(data)
    return data.getvalue()


def test_excel_is_read_as_a_table_of_texts(tmp_path):
    rows = [
        [],
        ["nr", "Comment", "Reply", "Day"],
        [7, "Late.\nAgain.", "Sorry.", date(2024, 3, 1)],
        [None] * 4,
        [8, "Ok."],
    ]
    folder = files(tmp_path, {"a.xlsx": book(letters=rows, empty=[]), "~$a.xlsx": b"ada"})
    corpus = load("csv", folder, columns={"pair": "nr", "source": "Comment", "target": "Reply"})
    assert [(p.id, corpus.source_of(p).texts, corpus.target_of(p).texts) for p in corpus.pairs] == [
        ("7", ["Late.", "Again."], ["Sorry."])
    ]
    assert corpus.documents["7_source"].meta == {"Day": "2024-03-01"}
    assert [refusal.where for refusal in corpus.refused] == [f"{tmp_path / 'a.xlsx'}, sheet letters, row 5"]


def test_pairs_may_be_named_in_an_excel_file_beside_the_documents(tmp_path):
    rows = [["Source", "TARGET", "id"], ["a.txt", "b", 7], [], ["a", None, 8]]
    corpus = load("text", files(tmp_path, {"a.txt": "It stops.", "b.txt": "It runs.", "Pairs.xlsx": book(x=rows)}))
    assert [(pair.id, pair.source, pair.target) for pair in corpus.pairs] == [("7", "a", "b")]
    assert [one.where for one in corpus.refused] == [f"{tmp_path / 'Pairs.xlsx'}, sheet x, row 4"]
    with pytest.raises(InputError, match="has the columns from, to"):
        load("text", files(tmp_path, {"Pairs.xlsx": book(x=[["from", "to"]])}))


def test_excel_with_several_filled_sheets_and_what_is_no_excel_are_named(tmp_path):
    folder = files(tmp_path, {"two.xlsx": book(a=[["x"]], b=[["y"]]), "no.xlsx": b"PK"})
    with pytest.raises(InputError, match=r"two\.xlsx has several sheets with data: a, b"):
        list(excel_rows(folder / "two.xlsx"))
    with pytest.raises(InputError, match=r"no\.xlsx cannot be read as an Excel file"):
        list(excel_rows(folder / "no.xlsx"))
