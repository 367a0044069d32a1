"""The page of spans: what it lists, that names cannot break it, and what its script saves."""

import base64
import json
import re
import shutil
import subprocess

import numpy as np
import pytest
import soundfile

from builders.corpora.base import SourceClip
from builders.vocalgrad.pages import spans_page
from builders.vocalgrad.pages.spans_page import wave_path, write_spans_page
from builders.vocalgrad.planning.corrections import Correction, read_corrections
from builders.vocalgrad.planning.survey import survey
from otoscope.acoustics import codec
from tests.acoustics.synthetic_speech import speech_pcm

RATE = 22_050
NASTY = "</script><b>bold</b> & \"quoted\", 'x' ${1} {{ 7 * 7 }}"
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
NAMES = ("fine", NASTY, "short", "silent", "broken")


@pytest.fixture
def sources(tmp_path):
    """Two good clips, one under a second, a silent one, and a file that is not audio."""
    found = []
    for i, (name, seconds) in enumerate(zip(NAMES, (2.0, 2.2, 0.8, 1.0, 0), strict=True)):
        path = tmp_path / f"{i}.wav"
        if name == "broken":
            path.write_bytes(b"RIFF nothing")
        else:
            pcm = speech_pcm(RATE, seconds or 1.0, seed=i)
            soundfile.write(path, pcm.T * (name != "silent"), RATE)
        found.append(SourceClip(f"item{i}", name, "test", i, path, "s1", "", NASTY))
    return found


def page_of(sources, out, **options):
    write_spans_page(out, sources, survey(sources, **options.pop("survey", {})), **options)
    return out.read_text()


def spans_of(text):
    return json.loads(re.search(r"const CLIPS = (.*);", text).group(1))


def test_rejected_come_first_then_doubtful_then_the_rest(sources, tmp_path):
    text = page_of(sources, tmp_path / "spans.html")
    assert re.findall(r'data-state="(\w+)"', text) == [
        "rejected", "rejected", "doubtful", "fine", "fine",
    ]  # fmt: skip
    names = [clip["clip_id"] for clip in spans_of(text)]
    assert names == ["silent", "broken", "short", "fine", NASTY]


def test_spans_are_those_of_the_survey_and_within_the_clip(sources, tmp_path):
    text = page_of(sources, tmp_path / "spans.html")
    surveyed = {s.source.clip_id: s for s in survey(sources).sources}
    for clip in spans_of(text):
        if clip["clip_id"] in surveyed:
            s = surveyed[clip["clip_id"]]
            span = [round(clip[key] * RATE) for key in ("onset", "offset")]
            assert span == list(s.span)
            assert clip["offset"] <= clip["duration"] <= s.n_samples / RATE
        else:
            assert clip["onset"] is None


def test_names_and_transcripts_cannot_break_the_page(sources, tmp_path):
    text = page_of(sources, tmp_path / "spans.html")
    assert text.count("<script>") == text.count("</script>") == 1
    assert "<b>bold" not in text
    assert text.count("&lt;/script&gt;&lt;b&gt;bold") >= len(sources)


def test_the_page_loads_nothing(sources, tmp_path):
    text = page_of(sources, tmp_path / "spans.html")
    for address in re.findall(r'(?:src|href|data-audio)="([^"]*)"', text):
        assert address.startswith(("#", "data:"))
    assert "default-src 'none'" in text


def test_folders_of_this_machine_stay_out_of_the_page(sources, tmp_path):
    assert str(tmp_path) not in page_of(sources, tmp_path / "spans.html")


def test_audio_is_mono_16_khz_and_left_out_of_long_lists(sources, tmp_path, monkeypatch):
    text = page_of(sources, tmp_path / "spans.html")
    (first, *others) = re.findall(r'data-audio="data:audio/flac;base64,([^"]+)"', text)
    assert len(others) == 3
    recording = codec.read(base64.b64decode(first))
    assert (recording.sampling_rate, recording.pcm.shape) == (16_000, (1, 16_000))
    monkeypatch.setattr(spans_page, "MOST_WITH_AUDIO", 4)
    silent = page_of(sources, tmp_path / "spans.html")
    assert "data-audio=" not in silent
    assert "No audio: the page lists 5 sources" in silent
    assert "data-audio=" in page_of(sources, tmp_path / "spans.html", with_audio=True)


def test_earlier_corrections_are_known_and_dropped_clips_stay_dropped(sources, tmp_path):
    corrections = {"fine": Correction((0.5, 1.2)), "short": Correction(None)}
    text = page_of(sources, tmp_path / "spans.html", survey={"corrections": corrections})
    clips = {clip["clip_id"]: clip for clip in spans_of(text)}
    assert (clips["fine"]["known"], clips["fine"]["onset"]) == (True, 0.5)
    assert (clips["short"]["known"], clips["short"]["drop"]) == (True, True)
    assert not clips[NASTY]["known"]


def test_a_clip_in_two_splits_is_one_row(sources, tmp_path):
    twice = [*sources, SourceClip("other", "fine", "train", 9, sources[0].path)]
    names = [clip["clip_id"] for clip in spans_of(page_of(twice, tmp_path / "spans.html"))]
    assert sorted(names) == sorted(NAMES)


def test_a_waveform_touches_its_frame_and_silence_is_a_line():
    loud = wave_path(np.array([0.25, -0.125]))
    assert loud == "M0 0V50M250 50V75"
    assert wave_path(np.zeros(2)) == "M0 50V51M250 50V51"


def saved_by_browser(page, tmp_path, actions):
    """What the page's own script would save after some actions, from a real browser."""
    if BROWSER is None:
        pytest.skip("needs Chromium")
    text = page.read_text()
    script = (
        f"<script>{actions}\nconst output = document.createElement('pre'); output.id = 'output';"
        "output.textContent = JSON.stringify(toCsv()).replaceAll('<', '\\\\u003c');"
        "document.body.append(output);</script></body>"
    )
    driven = tmp_path / "driven.html"
    driven.write_text(text.replace("</body>", script))
    options = (
        "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync "
        "--disable-background-networking --disable-component-update --window-size=1200,900 "
        f"--user-data-dir={tmp_path / 'profile'} --dump-dom"
    )
    dump = subprocess.run(
        [BROWSER, *options.split(), driven.as_uri()],
        capture_output=True, text=True, timeout=90, check=True,
    ).stdout  # fmt: skip
    output = re.search(r'<pre id="output">(.*?)</pre>', dump, re.DOTALL)
    assert output, dump[-2000:]
    saved = tmp_path / "corrections.csv"
    plain = output.group(1).replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">")
    saved.write_bytes(json.loads(plain).encode())
    return read_corrections(saved)


INPUT = """
const NASTY = CLIPS.findIndex(clip => clip.clip_id.includes("bold"));
const index = name => CLIPS.findIndex(clip => clip.clip_id === name);
function drag(i, ...shares) {
  const wave = rows[i].querySelector(".wave"), box = wave.getBoundingClientRect();
  wave.setPointerCapture = () => {};
  shares.forEach((share, k) => wave.dispatchEvent(new PointerEvent(
    k === 0 ? "pointerdown" : "pointermove",
    {bubbles: true, button: 0, clientX: box.left + share * box.width})));
  wave.dispatchEvent(new PointerEvent("pointerup", {bubbles: true}));
}
function type(i, end, seconds) {
  const field = rows[i].querySelector("input." + end);
  field.value = seconds;
  field.dispatchEvent(new Event("change"));
}
function press(key) {
  document.body.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
}
"""


@pytest.mark.slow
class TestInTheBrowser:
    @pytest.fixture
    def page(self, sources, tmp_path):
        page_of(sources, tmp_path / "spans.html")
        return tmp_path / "spans.html"

    def test_nothing_done_saves_nothing(self, page, tmp_path):
        assert saved_by_browser(page, tmp_path, INPUT) == {}

    def test_what_was_dragged_typed_and_dropped_comes_back(self, page, tmp_path, sources):
        corrections = saved_by_browser(
            page, tmp_path,
            INPUT + "drag(index('silent'), 0.25, 0.5, 0.75); type(index('fine'), 'offset', 1.5);"
            "type(NASTY, 'onset', 0.25);"
            "press('j'); press('d');",
        )  # fmt: skip
        fine = next(s for s in survey(sources).sources if s.source.clip_id == "fine")
        assert corrections["broken"] == Correction(None)
        assert corrections["silent"].span_s == pytest.approx((0.25, 0.75), abs=0.005)
        assert corrections["fine"].span_s == pytest.approx((fine.span[0] / RATE, 1.5), abs=1e-5)
        assert corrections[NASTY].span_s[0] == 0.25
        assert set(corrections) == {"broken", "silent", "fine", NASTY}
        assert len(survey(sources, corrections=corrections).sources) == 4

    def test_ends_stay_in_order_and_inside(self, page, tmp_path):
        actions = "type(index('fine'), 'onset', 99); type(index('short'), 'offset', 99);"
        corrections = saved_by_browser(page, tmp_path, INPUT + actions)
        start, end = corrections["fine"].span_s
        assert 0 < start < end <= 2.0
        assert corrections["short"].span_s[1] == pytest.approx(0.8, abs=1e-4)

    def test_undo_takes_a_row_out_again(self, page, tmp_path):
        actions = (
            "select(index('fine')); type(index('fine'), 'onset', 0.1); press('d'); press('u');"
        )
        assert saved_by_browser(page, tmp_path, INPUT + actions) == {}

    def test_earlier_corrections_are_saved_again(self, sources, tmp_path):
        earlier = {"fine": Correction((0.5, 1.2)), "short": Correction(None)}
        page_of(sources, tmp_path / "spans.html", survey={"corrections": earlier})
        assert saved_by_browser(tmp_path / "spans.html", tmp_path, INPUT) == earlier

    def test_leaving_with_unsaved_changes_needs_confirmation(self, page, tmp_path):
        # the answer is reported by dropping a clip
        actions = """
        const leave = () => !dispatchEvent(new Event("beforeunload", {cancelable: true}));
        const before = leave(); drop(index("fine"), true); const after = leave();
        URL.createObjectURL = () => "#"; save(); const saved = leave();
        if (!before && after && !saved) drop(index("short"), true);
        """
        assert "short" in saved_by_browser(page, tmp_path, INPUT + actions)

    def test_changes_survive_a_reload(self, page, tmp_path):
        actions = """
        drop(index("fine"), true);
        store();
        now.forEach((state, i) => Object.assign(state, {drop: CLIPS[i].drop, reviewed: false}));
        recall();
        """
        assert saved_by_browser(page, tmp_path, INPUT + actions) == {"fine": Correction(None)}
