"""What ends a sentence and what only looks like it: patterns for ``segmentation.py``."""

from __future__ import annotations

import re

import regex

from abcdlink.languages import LOWER

OPENING = "\"'“”„‚‘«‹»›「『（(\\["  # noqa: RUF001 - quotes as they are typeset
CLOSING = "\"'”’»›」』）)\\]"  # noqa: RUF001 - quotes as they are typeset

NEVER_LAST = re.compile(
    r"(?:^|[\s(\[\"'“„«])(?:Abg|approx|Assoc|Capt|cf|Col|Cpl|Det|Dir|Dr|Drs|eds?|e\.g|Eqs?|eq|esp|est|Ft|Gen|Gov|Hon|i\.e"
    r"|incl|Insp|Lt|Maj|Messrs|Mevr|Mme|Mr|Mrs|Ms|Mt|nr|Pres|Prof|Refs?|Rep|resp|Rev|Sen|Sgt|Sr|Sra|Supt|viz|vs|v"
    r"|Benj|Chas|Edw|Geo|Jas|Robt|Saml|Thos"
    r"|bzw|bspw|ca|Dhr|Hr|Fr|sig|z\. ?B|d\. ?h|APPROX|CAPT|DET|DR|INSP|LT|MRS?|MS|PROF|SGT)\.$"
)
"""Abbreviations that stand before more of the same sentence, whatever follows."""
NEVER_LAST_ELSEWHERE = regex.compile(
    r"(?:^|[\s(\[\"'“„«])(?:[\p{Arabic}--\p{N}]|डॉ|डा|प्रो|श्री|सुश्री|कु|पं|स्व|ले|रु|रू|मो|सं|कि|(?:कि\.)?मी|नं|ডা|ডঃ|ড|মো|திரு|திருமதி"
    r"|κ|κκ|κα|κας|δρ|Δρ|Καθ|καθ|αρ|Αρ|βλ|Βλ|σελ|τηλ|Τηλ|[Αα]γ|Υπ|[Λλ]εωφ"  # noqa: RUF001 - Greek
    r"|акад|арх|бул|буд|вул|ген|гл|гр|д-р|доб|доц|[іи]м|[іи]нж|кв|корп|лейт|напр|оз|пл|полк|пор|проф|просп|разд|рис"  # noqa: RUF001 - Cyrillic
    r"|св|см|стор|табл|тел|тов|ул)\.$",
    regex.VERSION1,
)
"""Titles, units and other abbreviations in Greek, Cyrillic, Indic and Arabic script (there, any single letter)."""
INITIAL = regex.compile(r"(?:^|[\s(\[\"'“„«])(?![A-Z])(?:\p{Cyrillic}\.)?\p{Lu}\.$")
"""A capital letter with a full stop: the initial of a name. ``sentencex`` knows those of Latin script."""
TITLE = re.compile(
    r"(?:^|[\s(\[\"'“„«])(?!(?:Ltd|Rd|St|Str|Blvd|Hwy|Pkwy|Jr|Ph|Nr)\.)[B-DF-HJ-NP-TV-XZ][b-df-hj-np-tv-xz]{1,5}\.$"
)
"""A short word without vowels, such as ``Cllr.``: a title before a name, unless streets and companies end with it."""


def _goes_on(words: str, rest: str = "(?!)") -> re.Pattern[str]:
    """Return a pattern of what ends no sentence: some words, the initials of a name, and the rest."""
    return re.compile(rf"(?:^|[\s(«„])(?:{words}|(?<!\d )(?<!itamin[ae] )[A-Z])\.$|{rest}")


GOES_ON_IN = {
    "fr": _goes_on("MM?|Mgr|Mlles?|Mmes?|[Ss]té|[ÉEé]ts|[Aa]v|[Bb]d"),
    "es": _goes_on(
        "Dª|Mª|Dña|Sres|Sras|Srta|[Ee]xcm[oa]|[Ii]lm[oa]|Lic|L[cd]d?[oa]|Prof[ae]|[Ee]nf|Ing|Arq|Hnos|[Hh]osp|[Aa]vda"
        "|[Pp]l?za|[Nn]tra"
    ),
    "pt": _goes_on("[Aa]v|[Ee]nf|[Ee]xm[oa]|Prof[ªa]|St[ao]|Pe|Cap|Cel|Ten|Min|Dep|[Tt]rav|[Pp]ç|[Aa]p(?:to)?|fev|séc"),
    "de": _goes_on(
        "Fa|Fam|Frl|geb|verh|verw|zzgl|inkl|exkl|einschl|ggf|evtl|bzgl|insb|sog|gem|vgl|Vgl",
        r"(?:^|\s)(?:[Dd](?:er|ie|as|em|en|es)|[Ii]m|[Aa]m|[Aa]ns|[Ii]ns|[Vv]om|[Zz]u[mr]|[Bb]eim|[Bb]is|[Ii]hr\w*|[Ss]ein\w*"
        r"|[Uu]nse?r\w*|[Dd]ies\w+|[Jj]ed\w+|[-–—]) \d{1,3}\.$",  # noqa: RUF001 - dashes as they are typeset
    ),
    "it": _goes_on("[Mm]agg|[Ss]ez|[Ff]raz|[Pp]agg?|[Cc]ell"),
    "nl": _goes_on("[Mm]evr|[Aa]fb"),
    "cs": _goes_on("plk"),
    "pl": _goes_on(
        r"pp?|[Dd]r|[Mm]gr|[Ii]nż|hab|[Kk]s|a?bp|[Śś]w|[Gg]en|pp?łk|[Kk]pt|[Aa]l|[Pp]l|im|woj|gm|pow|[Rr]ed|tz[wn]|m\.in|[Oo]k"
        "|ds|[Zz]ob|[Pp]or|[Ww]g|[Mm]ec|[Aa]dw|[Pp]rez|st|[Gg]odz|[Uu]st|[Pp]oz|[Ww]ys|[Rr]ozdz|[Zz]ał|[Rr]y[sc]|[Tt]ab|kl|dn"
        "|pon|czw|kwi|wrz|paź"
    ),
}
"""By language, what ends no sentence before a capital letter or a number though it may do so elsewhere: titles
(``M.``), initials where ``sentencex`` takes some for words, and German ordinals (``in der 20. Wahlperiode``)."""
STAGED = re.compile(
    r"((?:[^\W\d_]{4}[.!?…][\"”’]?\s+[\[(][a-z][^()\[\]]{0,40}[\])]"  # noqa: RUF001
    r"|[^\W\d_]{2}[.!?…][\"”’]?\s+\[(?:[a-z]+ )?[a-z]{5,}\]))\s+(?=[\"“]?[^\W\da-z])"  # noqa: RUF001
)
"""What is heard between two sentences, in brackets and small letters: ``[laughter]``."""
BEFORE_NUMBERS = re.compile(
    r"(?:^|[\s(\[\"'“„«/\u2013\u2014-])(?:[Aa]cc|[Aa]ls?|[Aa]rts?|[Aa]vg|[Bb]ldg|Cat|[Cc]h|[Cc]ls?|[Dd]iams?|[Ee]ps?|[Ee]sc|Ex|[Ee]xps?|[Ee]xt|[Ff]igs?|[Hh]ab|[Ii]nv|[Mm]ax|[Mm]in|[Nn]eg"
    r"|[Nn]|[Nn]os?|[Nn]º|[Nn]úm|[Pp]p?|[Pp]ágs?|[Pp]ar(?:as?)?|[Rr]egs?|[Ss]ched|[Ss]ect?|[Tt]ab|[Tt]el|[Uu]l|[Vv]ers|[Vv]ol|[Yy]rs?|§"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|янв|февр?|апр|авг|сент|окт|нояб|дек|Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun"
    r"|(?<!\d[ \u00a0])(?!(?:km|kg|cm|mm|hrs?|pm|tv|TV)\.)[B-DF-HJ-NP-TV-XZb-df-hj-np-tv-xz][b-df-hj-np-tv-xz]{1,4})\.$"
)
"""Abbreviations that stand before a number in the same sentence, and any short word without vowels, such as ``wt.``."""
BULLETS = "•\u2043⁌⁍■□▪▫▶▸►◆◇○●◦★☆➢➣➤\uf0a7\uf0b7"
UNCUT = re.compile(rf"^(?:\((?:\d{{1,3}}|[A-Za-z]|[ivxIVX]{{1,4}})\)\s+|[{BULLETS}]\s*)+")
"""The mark of a list item, in brackets or a bullet: ``sentencex`` cuts no line that begins with one."""
LIST_MARK = re.compile(
    rf"^(?:(?:#{{1,6}}|>+|[*+{BULLETS}-])\s+)*"
    r"(?:\*\*|__)?\(?(?:\d{1,3}(?:\.\d{1,3}){0,4}|1st|2nd|3rd|\dth|[A-Za-z](?:\.?\d{1,3}){0,4}|[ivxIVX]{1,4}|(?:P\.?){1,2}S|N\.B)[.)]$"
)
"""The mark of a list item, a heading (``h3.``) or a postscript; before it may be what Markdown puts before such."""
NOTES = "(?:\\[\\^?\\w{1,4}\\]|[\u00b9\u00b2\u00b3\u2070-\u2079])+"
"""Marks of notes behind a sentence: ``[^1]``, or small raised numbers."""
TAIL = re.compile(rf"^(?:\*\*|__|{NOTES})(?=\s|$)")
"""The end of Markdown's bold type, or marks of notes, cut from the sentence before."""
REACTION = re.compile(
    "^(?:[\U0001f440-\U0001f450\U0001f493-\U0001f49f\U0001f600-\U0001f64f\U0001f910-\U0001f93f\U0001f970-\U0001f97a"
    "\U0001f9d0\U0001fae0-\U0001faf8\u2764\U0001f3fb-\U0001f3ff\u200d\ufe0f\u2640\u2642]+ ?)+(?=\\s|$)"
)
"""Faces, hands and hearts, which belong to the sentence before them; other pictures may be the marks of a list."""
REFERENCE = re.compile(
    r"^(?!\(\w{1,4}\)\s+\S)\((?:[^().!?]*[#@\d][^().!?]*\)(?=\s|$)|(?:[^\W\d_]|see )[^().!?]*\)$)(?!\s+[^\W\dA-ZÀ-Þ])"
)
"""A remark in brackets behind a sentence, with a number (``(#431)``) or at the end of the line (``(thanks, Ann)``)."""
ROW = re.compile(r"\|.*\|")
"""A row of a table in Markdown, which is one piece whatever its cells hold."""
LABELS = (
    "Act|Agenda item|Annex|Appendix|Art|Article|Attachment|Box|Case|Chapter|Clause|Day|Definition|Example|Exercise"
    "|Exhibit|Fig|Figure|Item|Lemma|Lesson|Level|Lot|Lot No|Motion|No|Note|Nr|Paragraph|Part|Phase|Plate|Point"
    "|Problem|Proposition|Question|Resolution|Rule|Scene|Schedule|Sec|Section|Stage|Step|Tab|Table|Task"
    "|Theorem|Title|Week|Abb|Abbildung|Abs|Absatz|Abschnitt|Anhang|Anlage|Artikel|Beispiel|Frage|Kapitel|Punkt|Satz"
    "|Schritt|Tabelle|Teil|Ziffer|Annexe|Chapitre|Étape|Exemple|Partie|Tableau|Titre|Allegato|Articolo|Capo|Capitolo"
    "|Comma|Esempio|Figura|Parte|Passo|Punto|Sezione|Tabella|Titolo|Anexo|Artículo|Capítulo|Cuadro|Ejemplo|Etapa"
    "|Sección|Tabla|Título|Artigo|Exemplo|Quadro|Seção|Tabela|Bijlage|Deel|Figuur|Hoofdstuk|Stap|Tabel|Vraag"
)
"""What is numbered, in several languages."""
LABELLED = re.compile(
    rf"^[{OPENING}]*(?:(?:{LABELS}|{LABELS.upper()})\b\.?|§+) ?"
    r"(?:\d{1,4}(?:[.-]\d{1,3})*[a-z]?|[IVXLC]{1,6}|[A-Z])(?:\(\w{1,4}\))*\.$"
)
"""What a numbered item begins with: ``Item 1.``, ``Art. 3.``, ``Annex II.``."""
ANSWERED = re.compile(
    rf"(?:\bno|(?:^|[:?!.\u2026\u2014\u2013]\s*|[{OPENING}])No)\.\s+(?=[{OPENING}]*[A-ZÀ-Þ])(?!\S*\d)(?![IVXLC]{{2,}}\b)"
)
"""``no.`` as a word, which ``sentencex`` takes for "number": a capital letter follows and no number."""
WORDS_IN = {
    "en": re.compile(
        r"(?<![.\w])(?:arc|art|con|ill|[Mm]ay|me|miss|OK|ok)\.\s+"
        rf"(?=[{OPENING}]*(?:I\b(?![,;:.)]|\s+(?:of|to|and)\b)|(?![IVXLC]+\b)[A-ZÀ-Þ]))"
    ),
    "fr": re.compile(rf"(?:\betc|[€\d][ \u00a0]?(?:H\. ?T|T\. ?T\. ?C))\.\s+(?=[{OPENING}]*[A-ZÀ-Þ])"),
    "es": re.compile(rf"\betc\.\s+(?=[{OPENING}¿¡]*[A-ZÀ-Þ])"),
    "it": re.compile(rf"\b(?:ecc|est|fa|ha|ore|sa|si|su|va|via)\.\s+(?=[{OPENING}]*[A-ZÀ-Þ])"),
    "pl": re.compile(rf"\bit[dp]\.\s+(?=[{OPENING}]*[A-ZĆŁÓŚŹŻ])"),
    "uk": re.compile(r"\b(?:грн|коп)\.\s+(?=[«„]?[А-ЯҐЄІЇ])"),  # noqa: RUF001 - Cyrillic
    "de": re.compile(
        r"\b(?:usw|etc)\.\s+(?=[„»]?(?:Am|Auch|Bei|D(?:as|er|ie|ies\w*|ort)|Eine?|Er|Es|Ich|I[mn]|Man|Sie|Wir)\b)"
    ),
}
"""By language, what ``sentencex`` takes for an abbreviation within a sentence but ends one where a capital follows."""
MEASURED = regex.compile(
    r"(?:\d[ \u00a0]?(?:mins?|hrs?|s(?:ecs?|egs?)?|[dh]|wks?|mo|mths?|yrs?|[kcmµ]?m|[kmµ]?g|[cmµ]?[lL]|t|[kM]?V|k?Hz)"
    r"|(?<!\d\d)(?:\d|[.,])\d[ \u00a0]C|(?<!\d{4})(?<=\d)[ \u00a0](?:[км]?г|[ксм]?м|м?л|ч|мин|сек|нед|руб))"  # noqa: RUF001 - Cyrillic
    rf"\.\s+(?=[{OPENING}]*\p{{Lu}})"
)
"""An abbreviated time, measure or temperature at the end of a sentence; what Russian has after a year is not a gram."""
TRAILED = regex.compile(rf"[\p{{L}}!?]…\s+(?=[{OPENING}¿¡]*\p{{Lu}})(?!I\b)")
"""Three dots in one character, at which ``sentencex`` cuts nothing, before a capital letter."""
SMILED = regex.compile(
    rf"(?<=\S\s)(?:[:;]-?[()DP]+|[\U0001f600-\U0001f64f\U0001f910-\U0001f92f\U0001f970-\U0001f97a]+)\s+(?=[{OPENING}¿¡]*\p{{Lu}})"
)
"""A face, of letters or drawn, where its writer leaves out the full stop."""
ANNOTATED = re.compile(
    rf"(?<=[^\W\d_]{{2}})[.!?](?:[{CLOSING}]?{NOTES}|(?<=[^\W\d_]{{4}}[.!?])(?<!chap\.|item\.|note\.|page\.|para\.|part\.|sect\.)"
    rf"[{CLOSING}]?\d{{1,2}})\s+(?=[{OPENING}]*[A-ZÀ-Þ])"
)
"""The end of a sentence with marks of notes; those of a PDF are no longer raised."""
COUNTED = re.compile(rf":\s+(?=1\.\s+[{OPENING}]*[A-ZÀ-Þ].*[{CLOSING}.!?]\s+2\.\s)")
"""Before the first of several numbered sentences in one line."""
NEXT_ITEM = re.compile(rf"\(?[b-h]\)\s+[{OPENING}]*[A-ZÀ-Þ]")
"""A whole sentence with a letter, in a list that goes on in the same line: ``b) Switch it off.``"""
ITEM_ENDS = re.compile(rf"[.!?][{CLOSING}]?\s+(?={NEXT_ITEM.pattern})")
DOTTED_ENDS = regex.compile(
    rf"\s+(?=[b-h]\.\s+[{OPENING}]*[A-ZÀ-Þ])"
    rf"(?<=(?:^|[:.!?]\s+)[a-g]\.\s+[{OPENING}]*[A-ZÀ-Þ].*[^\W\d_]{{2}}[.!?][{CLOSING}]?\s+)"
)
"""The same with a full stop behind the letter, after another such sentence: one alone may be an abbreviation."""
MARK_ALONE = re.compile("[。！？](?=[0-9０-９])|[\u037e។៕།]\\s+(?=\\S)")  # noqa: RUF001 - marks as they are typeset
"""Ends that ``sentencex`` misses: a mark without a space before a digit; marks of Greek, Khmer and Tibetan."""
GERSHAYIM = re.compile('(?<=[\u05d0-\u05ea])"(?=[\u05d0-\u05ea])')
"""A quotation mark within a Hebrew word, which makes it an abbreviation and opens no quotation."""
MARKED = re.compile(r"\(\d{1,2}\)")
MARKED_PART = re.compile(r"\(\d{1,2}\)\s+[^\W\dA-ZÀ-Þ]")
"""A numbered part of a sentence; a whole one has a capital letter."""
GOES_ON = regex.compile(rf"[{OPENING}]*{LOWER}(?!\p{{Lu}})")
"""A lower-case letter; names such as ``iPhone`` begin with one too and have a capital next to it."""
ENDED = regex.compile(r"\p{L}{3}(?<!\betc)(?:\.|\s?[!?]+)$")
BEGUN = re.compile(
    r"[.!?](?:(?<=[^\W\d_]{3}[.!?])|(?<=[^\W\d_]{3}\s[!?])|(?<=[!?]{2}))(?<!\b(?:etc|szt|tyg|tys|ust|wys|zał|zwł)\.)"
    r"(?<!\b(?:mies|godz)\.)(?<!\b(?:podst|przyp)\.)\s+([^\W\d_])(?![.)])"
)
"""The letter after what may end a sentence: where most are small, the writer does not mind capitals."""
CAPITAL_LINE = regex.compile(r"^[^\w\n]*\p{Lu}", regex.MULTILINE)
"""A line that begins with a capital letter, as few do where its writer does not mind them."""
SHOUTED = re.compile(r"[!?](?:(?<=[!?]{2})|(?<=\s[!?]))\s+(?=[^\W\d_A-ZÀ-Þ])")
"""What ``sentencex`` takes for no end before a small letter."""
DOUBLED = re.compile(r"(?:^|\W)([A-Z])\1\.$")
"""Half of a Spanish abbreviation in the plural, such as ``EE. UU.``"""
TOUCHING = re.compile(r"[.!?\u2026][)\]]?$")
UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]")
"""Characters of scripts that put no spaces between words."""
MAY_TOUCH = re.compile(rf"{UNSPACED.pattern}|[\"\u201c]")
"""What may follow a sentence without a space: scripts that have none, and a quotation."""
DASH = re.compile(r"[-\u2013\u2014]\s")
DATELINE = re.compile(r"[A-ZÀ-Þ][A-ZÀ-Þ' .-]+,.{0,20}$")
"""The place and the day before the dash that opens a report."""
SPEAKER = re.compile(
    "[とをがの]|[他她它我你]们?(?:\\w{0,3}[说道问答喊叫称]|点头|摇头)"
    "|(?![没无不])[\u4e00-\u9fff]{1,12}(?:说[道着]?|[问答喊叫]道|表示|指出|告诉记者)(?=[。，；]|$)"  # noqa: RUF001 - Chinese marks
)
"""How Japanese and Chinese go on after a quotation."""
QUOTED = re.compile(rf"[.!?。！？…][{CLOSING}]+$")  # noqa: RUF001 - marks as they are typeset
WITHIN = re.compile(r"(?<=[.!?])\s+(?=\([^\W\da-z][^()]*[.!?]\)\s+[\"“]?[^\W\da-z])")
"""Before a whole sentence in brackets that stands between two sentences."""
ASIDE = re.compile(rf"^(\([^()]*[.!?][{CLOSING}]?\))\s+(?=[A-Z\"“(])")
"""A whole sentence in brackets, before another one."""
MISSED = re.compile(
    r"(?:(?<=[!?]{2})|(?<=[.!?]\*\*)|(?<=[.!?]__))\s+(?=[\"“(]?[^\W\da-z])|(?<=[.!?][\"”])(?=[\"“][A-Z])"
    r"|(?<=[^\W\d_]{3}\.[\"”])\s+(?=[€$£]?\d)"
)
"""Boundaries that ``sentencex`` misses: after ``!!`` and ``??``, after a sentence in Markdown's bold type, between two
quotations without a space, between a quotation and a figure."""
