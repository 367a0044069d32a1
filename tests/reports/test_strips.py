"""Marks on strips are where the numbers are."""

from xml.etree import ElementTree

from otoscope.reports import strips
from otoscope.reports.strips import Mark


def test_marks_and_whiskers_are_at_their_shares():
    strip = strips.strip([[Mark(0.5, 0.25, 0.75, 0, name='"x"')], [Mark(None)]])
    drawing = ElementTree.fromstring(strip)
    (whisker,) = (line for line in drawing.iter("line") if line.get("class") == "whisker")
    assert (whisker.get("x1"), whisker.get("x2")) == ("25.00%", "75.00%")
    (mark,) = (inner for inner in drawing.iter("svg") if inner is not drawing)
    assert (mark.get("x"), mark.get("y")) == ("50.00%", "8")
    (title,) = drawing.iter("title")
    assert title.text == '"x": 50.0 %'
