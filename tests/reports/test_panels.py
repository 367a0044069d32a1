"""Lines on small plots are where the numbers are."""

from otoscope.reports.panels import PlotLine, PlotPoint, PlotScale, line_panel


def test_lines_are_drawn_where_their_shares_are():
    line = PlotLine(
        "base", "s1", [PlotPoint(1.0, 0.9, 1.0), PlotPoint(None), PlotPoint(0.5, 0.4, 0.6)], 0.75
    )
    drawn = line_panel([line], ["0", "1", "2"], scale=PlotScale(0.5, 1.0), chance=0.5, alt="a < b")
    # 126 high, from 6 to 132: 100 % at 6, 75 % at 69, 50 % at 132, and what is lower there too
    assert 'points="40.0,6.0 228.0,132.0"' in drawn
    assert 'y1="69.0" y2="69.0"' in drawn
    assert 'points="40.0,6.0 228.0,106.8 228.0,132.0 40.0,31.2"' in drawn
    assert 'aria-label="a &lt; b"' in drawn
