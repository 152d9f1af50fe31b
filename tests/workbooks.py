"""Workbooks, written here by hand, since only reading them is our business."""

import io
import zipfile
from xml.sax.saxutils import escape

XML = "http://schemas.openxmlformats.org/"
MAIN = f'xmlns="{XML}spreadsheetml/2006/main"'
OFFICE = f"{XML}officeDocument/2006/relationships"
PACKAGE = f"{XML}package/2006/relationships"
TYPES = (
    f'<Types xmlns="{XML}package/2006/content-types">'
    '<Default Extension="xml" ContentType="application/xml"/>'
    '<Default Extension="rels" ContentType='
    '"application/vnd.openxmlformats-package.relationships+xml"/></Types>'
)


def cell(value, place):
    if value is None:
        return ""
    if isinstance(value, bool):
        return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, int | float):
        return f'<c r="{place}"><v>{value}</v></c>'
    return f'<c r="{place}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'


def sheet(rows):
    lines = (
        f'<row r="{line}">'
        + "".join(cell(value, f"{chr(ord('A') + at)}{line}") for at, value in enumerate(row))
        + "</row>"
        for line, row in enumerate(rows, start=1)
    )
    return f"<worksheet {MAIN}><sheetData>{''.join(lines)}</sheetData></worksheet>"


def relations(kind, targets):
    found = (
        f'<Relationship Id="r{n}" Type="{OFFICE}/{kind}" Target="{target}"/>'
        for n, target in enumerate(targets, start=1)
    )
    return f'<Relationships xmlns="{PACKAGE}">{"".join(found)}</Relationships>'


def workbook(**sheets):
    names = "".join(
        f'<sheet name="{name}" sheetId="{n}" r:id="r{n}"/>' for n, name in enumerate(sheets, 1)
    )
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as file:
        file.writestr("[Content_Types].xml", TYPES)
        file.writestr("_rels/.rels", relations("officeDocument", ["xl/workbook.xml"]))
        book = f'<workbook {MAIN} xmlns:r="{OFFICE}"><sheets>{names}</sheets></workbook>'
        file.writestr("xl/workbook.xml", book)
        targets = [f"worksheets/{n}.xml" for n in range(len(sheets))]
        file.writestr("xl/_rels/workbook.xml.rels", relations("worksheet", targets))
        for n, rows in enumerate(sheets.values()):
            file.writestr(f"xl/worksheets/{n}.xml", sheet(rows))
    return data.getvalue()
