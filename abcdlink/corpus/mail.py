"""Headers, quotations and signatures of mails, removed from plain text.

Lines that begin with ``>`` are quoted mail where something else shows that the text is a mail, be it a header in the
quotation: alone, they may be a quotation in an article, or what a program prints. A line of nothing but ``>`` is empty.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from abcdlink.corpus.lines import HEADER, QUOTED, SIGNATURE, Lines

MOST_SIGNED = 10
"""Lines that a signature has at most."""

SENDER = r"From|Von|De|Da|Van|Från|Fra|Od|От(?: кого)?|差出人|送信者|发件人|寄件者"
SUBJECT = r"Subject|Betreff|Objet|Asunto|Oggetto|Onderwerp|Assunto|Ämne|Emne|Temat|Тема|件名|主题|主旨"
FIELD = re.compile(
    rf"^(?:(?P<sender>{SENDER})|(?P<subject>{SUBJECT})|To|Cc|Bcc|Date|Sent|Reply-To|Message-ID|MIME-Version|In-Reply-To"
    r"|References|Received|Return-Path|Importance|Priority|Attachments?|Content-[\w-]+|X-[\w-]+|List-[\w-]+|DKIM-[\w-]+"
    r"|An|Kopie|Gesendet|Datum|Anlagen?|À|Envoyé(?: le)?|Pièces? jointes?|Para|Enviado(?: el)?|Fecha|A|Inviato|Data"
    r"|Aan|Verzonden|Till|Skickat|Til|Sendt|Do|Wysłano|DW|Enviada(?: em)?|Кому|Дата|Отправлено|Копия|宛先|日時|送信日時"
    r"|添付(?:ファイル)?|收件人|发送时间|日期|抄送|收件者)\s?(?::(?:\s|$)|\uff1a)",
    re.IGNORECASE,
)
LEAST_FIELDS = 3
"""Lines of a mail's header from which it is one; one fewer where the sender has an address."""
ADDRESS = re.compile(r"\S@\S+\.\w")
ATTRIBUTION = re.compile(
    r"^(?:>\s*)*(?:(?:On|Am|Le|El|Il|Op|Em|Den|W dniu)\b.{6,200}\b|@[\w.-]+ )"
    r"(?:wrote|schrieb|a écrit|escribió|ha scritto|schreef|escreveu|skrev|napisał)\b.{0,80}:$"
    r"|^(?:>\s*)*.{0,200}\d\d:\d\d.{0,200}<\S+@\S+>.{0,20}[:\uff1a]$"
)
ORIGINAL = re.compile(
    r"^[-_]{2,}\s*(?:Original Message|Ursprüngliche Nachricht|Message d['’]origine|Mensaje original"  # noqa: RUF001
    r"|Messaggio originale|Oorspronkelijk bericht|Mensagem original|Ursprungligt meddelande)\s*[-_]{2,}$",
    re.IGNORECASE,
)
DEVICE = re.compile(
    r"^(?:Sent from my|Get Outlook for|Von meinem \S+ gesendet|Gesendet (?:von|mit) (?:meinem|der)"
    r"|Envoyé (?:de|depuis) mon|Enviado desde mi|Inviato da(?:l mio)?|Verstuurd vanaf mijn|Skickat från min"
    r"|Wysłan[eo] z(?: mojego)?|Отправлено (?:с|из)|Enviado do meu)\b.{0,40}$",  # noqa: RUF001 - Cyrillic
    re.IGNORECASE,
)
CLOSE = re.compile(
    r"^(?:(?:(?:with )?(?:kind(?:est)?|best|warm(?:est)?|many) )?(?:regards|wishes)|all the best|best|cheers"
    r"|(?:yours )?(?:sincerely|faithfully|truly)(?: yours)?"
    r"|(?:mit )?(?:(?:freundliche[nm]?|beste[nm]?|viele[nm]?|herzliche[nm]?|liebe) )+"
    r"gr(?:ü|ue)(?:ß|ss)(?:e[nm]?)?|mfg|lg|(?:bien )?cordialement|bien à vous|salutations.{0,20}"
    r"|(?:un )?saludos?(?: cordiales)?"
    r"|(?:cordiali|distinti) saluti|(?:serdecznie )?pozdrawiam(?: serdecznie)?|(?:serdeczne )?pozdrowienia|z poważaniem"
    r"|с уважением|(?:com os )?(?:melhores )?cumprimentos"  # noqa: RUF001 - Cyrillic
    r"|met vriendelijke groet(?:en)?|med vänliga hälsningar|atenciosamente)\W{0,2}$",
    re.IGNORECASE,
)
LONGEST_SIGNED = 70
"""Characters of a line under a complimentary close."""


def remove_mail(lines: Lines) -> None:
    """Remove what only mails have; in a mail, also quotations and what is below a complimentary close."""
    is_mail = _headers(lines)
    for number, line in list(lines.left()):
        why, last = _part_of_mail(lines, number, line.strip())
        is_mail = is_mail or bool(why)
        for other in range(number, last + 1):
            lines.remove(other, why)
    for number, line in list(lines.left()):
        if line.lstrip().startswith(">") and (is_mail or not line.strip("> \t")):
            lines.remove(number, QUOTED)
        elif is_mail and CLOSE.match(line.strip()):
            under = _run(lines, number)
            if len(under) <= MOST_SIGNED and all(len(lines.texts[other]) <= LONGEST_SIGNED for other in under):
                for other in under:
                    lines.remove(other, SIGNATURE)


def _part_of_mail(lines: Lines, number: int, line: str) -> tuple[str, int]:
    """Return what goes from a line on that only mails have, and the last line that goes; ("", -1) otherwise."""
    end = len(lines.texts) - 1
    if ORIGINAL.match(line):
        return QUOTED, end
    if _is_attribution(line, lines.texts[number + 1 : number + 3]):
        return QUOTED, number if ATTRIBUTION.match(line) else number + 1
    if DEVICE.match(line):
        return SIGNATURE, number
    if line == "--" and 0 < sum(other > number for other, _ in lines.left()) <= MOST_SIGNED:
        return SIGNATURE, end
    return "", -1


def _headers(lines: Lines) -> bool:
    """Remove the header lines of mails but for the subject; tells whether there are any, be it in a quotation."""
    found, block = False, list[tuple[int, re.Match[str] | None]]()
    for number, line in [*enumerate(lines.texts), (len(lines.texts), "")]:
        field = FIELD.match(line.strip().lstrip("> "))
        if field or (block and line[:1].isspace() and line.strip()):  # a field may go on in an indented line
            block.append((number, field))
            continue
        fields = [match for _, match in block if match]
        written = any(match["sender"] and ADDRESS.search(match.string) for match in fields)
        if len(fields) >= LEAST_FIELDS - written and any(match["sender"] for match in fields):
            found = True
            keeps = False
            for inside, match in block:
                keeps = bool(match["subject"]) if match else keeps
                if not keeps and not lines.texts[inside].lstrip().startswith(">"):
                    lines.remove(inside, HEADER)
        block = []
    return found


def _is_attribution(line: str, following: Sequence[str]) -> bool:
    """Tell whether a line, or it and the next, says who wrote what is quoted behind it."""
    after = [text.strip() for text in following if text.strip()]
    if not after:
        return False
    if ATTRIBUTION.match(line):
        return after[0].startswith(">")
    return len(after) > 1 and ATTRIBUTION.match(f"{line} {after[0]}") is not None and after[1].startswith(">")


def _run(lines: Lines, first: int) -> list[int]:
    """Return the lines from one on, up to the next that is removed already or the end; a blank line ends none."""
    run = []
    for number in range(first, len(lines.texts)):
        if number in lines.gone:
            break
        if lines.texts[number].strip():
            run.append(number)
    return run
