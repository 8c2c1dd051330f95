"""Word files and PDFs as bytes, as small as their programs can read them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def run(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def paragraph(*runs: str) -> str:
    return f"<w:p>{''.join(runs)}</w:p>"


def style(style_id: str, name: str) -> str:
    return f'<w:style w:type="paragraph" w:styleId="{style_id}"><w:name w:val="{name}"/></w:style>'


def row(*cells: str) -> str:
    return f"<w:tr>{''.join(f'<w:tc>{paragraph(run(cell))}</w:tc>' for cell in cells)}</w:tr>"


def word(*body: str, footnote: str = "") -> bytes:
    """Return a Word file with such XML as its body; ``footnote``: the text of its footnote 1."""
    notes = f'<w:footnotes {W}><w:footnote w:id="1">{paragraph(run(footnote))}</w:footnote></w:footnotes>'
    files = {
        "[Content_Types].xml": f'<Types xmlns="{TYPES}"/>',
        "word/styles.xml": f"<w:styles {W}>{style('Contents1', 'toc 1')}</w:styles>",
        "_rels/.rels": _relations("officeDocument", "word/document.xml"),
        "word/document.xml": f"<w:document {W}><w:body>{''.join(body)}</w:body></w:document>",
    }
    if footnote:
        files |= {"word/footnotes.xml": notes, "word/_rels/document.xml.rels": _relations("footnotes", "footnotes.xml")}
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


def _relations(kind: str, target: str) -> str:
    one = f'<Relationship Id="r1" Type="{OFFICE}/{kind}" Target="{target}"/>'
    return f'<Relationships xmlns="{RELATIONS}">{one}</Relationships>'


def pdf(*pages: Sequence[str]) -> bytes:
    """Return a PDF with such lines on its pages."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for number, lines in enumerate(pages):
        shown = "".join(f"1 0 0 1 72 {760 - 14 * line} Tm ({text}) Tj " for line, text in enumerate(lines))
        stream = f"BT /F1 11 Tf {shown}ET"
        page = f"/Parent 2 0 R /MediaBox [0 0 595 842] /Contents {5 + 2 * number} 0 R"
        objects += [
            f"<< /Type /Page {page} /Resources << /Font << /F1 3 0 R >> >> >>",
            f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        ]
    data, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(data))
        data += f"{number} 0 obj\n{content}\nendobj\n".encode("cp1252")
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    end = (
        f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\n"
    )
    return data + f"{end}startxref\n{len(data)}\n%%EOF\n".encode()
