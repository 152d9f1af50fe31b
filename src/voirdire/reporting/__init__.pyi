from voirdire.reporting.as_json import from_json as from_json
from voirdire.reporting.as_json import to_json as to_json
from voirdire.reporting.layout import html_page as html_page
from voirdire.reporting.layout import rows as rows
from voirdire.reporting.pictures import plot as plot
from voirdire.reporting.result_tables import ResultTables as ResultTables
