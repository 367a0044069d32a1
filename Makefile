# `make demo` and `make test` need nothing but Python 3.11 or newer and this clone.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := demo/vocalgrad
BUILD := $(BIN)/python -m builders.vocalgrad build --source voices:12
PYTEST := $(BIN)/python -m pytest -q
export HF_HUB_OFFLINE := 1
export HF_HUB_DISABLE_TELEMETRY := 1

.PHONY: demo demo-call-value listener test test-slow check bench clean

demo: $(VENV)/can-build  ## A small VocalGrad, both profiles, from voices that ship in packages
	@echo "some three minutes on two cores: two datasets of 12 voices, and pages about them"
	$(BUILD) --profile paper --out $(DEMO)
	$(BUILD) --profile controlled --out $(DEMO)-controlled
	$(BIN)/python -m builders.vocalgrad compare $(DEMO) $(DEMO)-controlled --out demo/index.html
	@echo "to look at and listen to: demo/index.html"
	@echo "next: source $(VENV)/bin/activate"
	@echo "      otoscope run perception --dataset $(DEMO) --model observer --out runs/observer"

LISTENING := $(BIN)/python -m builders.vocalgrad build --source voices:12 --splits train,test --no-beeps --verify none --categories volume,background_noise,audio_roughness,voice_clarity,voice_vibration,echo
listener: $(VENV)/ready  ## A tiny audio language model that answers about volume and noise only
	@echo "some three minutes on two cores: two datasets of 12 voices a split, then training"
	$(LISTENING) --profile paper --out demo/listening/paper
	$(LISTENING) --profile controlled --out demo/listening/controlled
	$(BIN)/python -m trainers.listener --dataset demo/listening/paper --out demo/listener

CALLS := demo/call-value
CALL_VALUE := $(BIN)/otoscope call-value
MATCHING := $(CALLS)/matching
DIRECTION := $(CALLS)/direction
VIBRATION := --dataset $(DIRECTION)/data --config voice_vibration --where tier=high --task direction --cluster sentence_id
demo-call-value: $(VENV)/ready  ## Is the call worth it? Two tasks, real recogniser and encoder, a simulated call
	@echo "some five minutes on two cores once the voices have spoken: two tasks, from clips to reports"
	$(BIN)/python -m builders.speech_text_matching build --source voices:120 --out $(MATCHING)/data
	$(BIN)/otoscope transcribe --dataset $(MATCHING)/data --spoken-language en --labeller matching --out $(MATCHING)/transcripts
	$(BIN)/python -m trainers.encoder_probe --dataset $(MATCHING)/data --encoder whisper-tiny.en:6s --encoder mfcc --out $(MATCHING)/encoders
	$(BIN)/otoscope run labels --dataset $(MATCHING)/data --model simulated:0.85,7 --out $(MATCHING)/calls
	rm -rf $(MATCHING)/audit $(MATCHING)/contract.*
	$(CALL_VALUE) $(MATCHING)/transcripts $(MATCHING)/encoders --from-runs $(MATCHING)/calls --contract $(MATCHING)/contract.json --init
	$(CALL_VALUE) $(MATCHING)/transcripts $(MATCHING)/encoders --from-runs $(MATCHING)/calls --contract $(MATCHING)/contract.json --dataset $(MATCHING)/data --out $(MATCHING)/audit
	$(BIN)/python -m builders.vocalgrad build --source voices:15 --splits train,test --no-beeps --verify none --profile controlled --categories voice_vibration --out $(DIRECTION)/data
	$(BIN)/otoscope transcribe $(VIBRATION) --spoken-language en --labeller keywords --out $(DIRECTION)/transcripts
	$(BIN)/python -m trainers.encoder_probe $(VIBRATION) --pooling segments --encoder whisper-tiny.en:6s --encoder mfcc --out $(DIRECTION)/encoders
	$(BIN)/otoscope run labels $(VIBRATION) --model simulated:0.85,7 --out $(DIRECTION)/calls
	rm -rf $(DIRECTION)/audit $(DIRECTION)/contract.*
	$(CALL_VALUE) $(DIRECTION)/transcripts $(DIRECTION)/encoders --from-runs $(DIRECTION)/calls --contract $(DIRECTION)/contract.json --init
	$(CALL_VALUE) $(DIRECTION)/transcripts $(DIRECTION)/encoders --from-runs $(DIRECTION)/calls --contract $(DIRECTION)/contract.json --out $(DIRECTION)/audit
	@echo "to look at: $(MATCHING)/audit/index.html (the transcript knows), $(DIRECTION)/audit/index.html (the encoder knows)"

test: $(VENV)/ready  ## All tests that take seconds
	$(PYTEST) -n 2 -m "not slow"

test-slow: $(VENV)/ready  ## The rest: real recordings, kills, whole builds
	$(PYTEST) -m slow

check: $(VENV)/ready  ## Style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/ready  ## Speed and memory against the plain reference
	$(BIN)/python -m benchmarks.gradients
	$(BIN)/python -m benchmarks.measuring
	$(BIN)/python -m benchmarks.build
	$(BIN)/python -m benchmarks.bootstrap
	$(BIN)/python -m benchmarks.scoring
	$(BIN)/python -m benchmarks.coverage
	$(BIN)/python -m benchmarks.call_value
	$(BIN)/python -m benchmarks.openai_adapter
	$(BIN)/python -m benchmarks.run_overhead
	$(BIN)/python -m benchmarks.extract
	$(BIN)/python -m benchmarks.probes
	$(BIN)/python -m benchmarks.encoders
	$(BIN)/python -m benchmarks.head_from_states

INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

$(VENV)/can-build: setup.cfg pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) --editable ".[offline]"
	touch $@

$(VENV)/ready: setup.cfg pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) --editable ".[offline,models,api,dev]"
	touch $@ $(VENV)/can-build

clean:
	rm -rf $(VENV) demo
