"""What a browser would see of a page: elements, ids, tables, and its words."""

import re
from html.parser import HTMLParser

from markupsafe import Markup

VOID = {"meta", "link", "br", "img", "hr", "input", "col", "wbr"}


class Page(HTMLParser):
    """Elements, attributes, ids, and tables as rows of cells."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.elements, self.ids, self.open, self.attributes = [], [], [], []
        self.tables = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if {"td", "th"} & set(self.open) and "svg" not in self.open:
            self.tables[-1][-1][-1] += data


def text_of(page):
    """Give the words of a page as they are read."""
    body = re.sub(r"<(style|svg)\b.*?</\1>", " ", page, flags=re.DOTALL)
    apart = r'<span class="chip|</(?:span|td|th|p|li|h\d|caption|dt|dd|pre)>'
    body = re.sub(apart, lambda tag: f" {tag.group()}", body)
    text = Markup(body).striptags().replace("\N{NO-BREAK SPACE}", " ")
    return " ".join(text.split())
