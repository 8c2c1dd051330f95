"""Tasks of a batch as annotators will see them, in one HTML file that needs no server."""

from __future__ import annotations

import html
import re
from typing import Any
from xml.etree.ElementTree import Element, fromstring

from markupsafe import Markup

from abcdlink.domain import Domain
from abcdlink.layout import batch_file
from abcdlink.stages.batch_preview import PREVIEW, PREVIEW_PAGE, BatchPreview, filtered, filters_of, preview_batch
from abcdlink.store import Store
from abcdlink.templates import html_environment
from labelstudio_config.pages import Asked, with_style
from labelstudio_config.pages.annotate import LinkingPage, offered

MOST_TASKS = 12
"""Tasks shown: from across the batch, including the one with the most to decide and the longest."""

FIELD = re.compile(r"\$(\w+)(?:\[(\d+)\]\.(\w+))?")
"""How a label config names a value of the task's data: ``$progress``, ``$candidates[0].text``."""


SHOWN = '<div class="lsf-object"><div class="lsf-richtext__container">{}</div></div>'


def write_preview(store: Store, domain: Domain, page: LinkingPage) -> BatchPreview:
    """Write the preview of a batch, and the page that shows tasks of it, into the run; returns the preview.

    The page does not name methods, so annotators may see it too.
    """
    batch = page.batch
    preview = preview_batch(store, domain, batch, page.overlap)
    asked = page.ask(store, filtered(domain, filters_of(store, domain, batch)))
    store.write_text(batch_file(batch, PREVIEW_PAGE), render(store.key, preview, asked))
    store.write_record(batch_file(batch, PREVIEW), preview)
    return preview


def render(run: str, preview: BatchPreview, asked: Asked) -> str:
    """Return the page; every text of a document is escaped."""
    return (
        html_environment("labelstudio_config", ".")
        .get_template("preview.html.j2")
        .render(
            run=run,
            preview=preview,
            guidelines=Markup(asked.project.instruction),  # noqa: S704 - made by us, with all texts escaped
            tasks=[
                page_html(asked.project.label_config, data, f"task-{number}-")
                for number, data in enumerate(some(list(asked.tasks.values())), start=1)
            ],
            style=Markup(styles(asked.project.label_config)),  # noqa: S704 - our own rules
        )
    )


def some(tasks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return ``MOST_TASKS`` tasks from across a batch, in its order."""
    numbers = range(len(tasks))
    most = max(numbers, key=lambda number: len(offered(tasks[number])))
    longest = max(numbers, key=lambda number: len(tasks[number]["doc_a_html"] + tasks[number]["doc_b_html"]))
    chosen = dict.fromkeys([most, longest])
    step = max(1.0, len(tasks) / MOST_TASKS)
    for place in range(min(len(tasks), MOST_TASKS)):
        if len(chosen) < MOST_TASKS:
            chosen.setdefault(int(place * step))
    return [tasks[number] for number in sorted(chosen)]


def styles(config: str) -> str:
    """Return the CSS of a label config and of all our pages."""
    return "\n".join(one.text or "" for one in fromstring(with_style(config)).iter("Style"))  # noqa: S314 - our own XML


def page_html(config: str, data: dict[str, Any], prefix: str = "") -> Markup:
    """Return one task as HTML, as a label config (XML) lays it out, with the class names that Label Studio gives.

    Values of ``HyperText`` are HTML already, all others are escaped. ``prefix``: of the ids of its marks, which several
    tasks on one page would share.
    """
    made = _element(fromstring(config), data, "")  # noqa: S314 - our own XML
    # No document text has a plain quotation mark: they are escaped.
    return Markup(made.replace('"mark-', f'"{prefix}mark-'))  # noqa: S704 - escaped above


def _element(element: Element, data: dict[str, Any], number: str) -> str:
    """Return an element; ``number``: what ``{{idx}}`` stands for inside a repeater."""

    def value(name: str = "value") -> str:
        found = element.get(name, "").replace("{{idx}}", number)
        return FIELD.sub(lambda match: _value(match, data), found)

    if element.tag == "Repeater":
        items = data.get(element.get("on", "").removeprefix("$"), [])
        return "".join(_element(child, data, str(at)) for at in range(len(items)) for child in element)
    inside = "".join(_element(child, data, number) for child in element)
    match element.tag:
        case "View":
            made = f'<div class="{html.escape(element.get("className", ""))}">{inside}</div>'
        case "Header":
            made = f"<h4>{html.escape(value())}</h4>"
        case "Text":
            made = SHOWN.format(f'<p class="lsf-richtext__line">{html.escape(value())}</p>')
        case "HyperText":
            made = SHOWN.format(value())
        case "Choices":
            kind = "checkbox" if element.get("choice") == "multiple" else "radio"
            choices = "".join(_choice(child, kind, number) for child in element)
            made = f'<form class="lsf-choices">{choices}</form>'
        case "TextArea":
            hint = html.escape(value("placeholder"))
            made = f'<div class="lsf-text-area"><input class="ant-input" placeholder="{hint}"></div>'
        case _:
            made = ""
    return made


def _value(match: re.Match[str], data: dict[str, Any]) -> str:
    name, at, field = match.groups()
    found = data[name] if at is None else data[name][int(at)][field]
    return str(found)


def _choice(element: Element, kind: str, number: str) -> str:
    keys = element.get("hotkey", "").replace("{{idx}}", number)
    hint = f' <span class="lsf-hint">[{html.escape(keys)}]</span>' if keys else ""
    text = html.escape(element.get("value", ""))
    return f'<div class="lsf-choice"><label><input type="{kind}" name="choice"> {text}{hint}</label></div>'
