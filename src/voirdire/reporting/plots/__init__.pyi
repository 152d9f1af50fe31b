from voirdire.reporting.plots.figure import to_svg as to_svg
from voirdire.reporting.plots.kinds import PlotKind as PlotKind
from voirdire.reporting.plots.kinds import draw_svg as draw_svg
from voirdire.reporting.plots.kinds import plot as plot
from voirdire.reporting.plots.style import theme_css as theme_css
