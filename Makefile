# Everything a newcomer needs: `make demo` and `make test` do their own set-up.
PYTHON ?= python3
BIN := .venv/bin
# Two at a time: most tests wait for processes of their own; more would only train side by side.
PYTEST := $(BIN)/pytest -n 2 --dist loadfile

.PHONY: demo test test-all lint format bench clean

# The report is made also when a run failed; the exit code is then the run's.
demo: .venv/ready
	@$(BIN)/prumo run studies/demo.yaml; code=$$?; $(BIN)/prumo report results/demo && exit $$code

test: lint .venv/system-packages
	$(PYTEST) -m "not slow"

test-all: lint .venv/system-packages
	$(PYTEST)

lint: .venv/ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: .venv/ready
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: .venv/ready
	$(BIN)/python -m benchmarks

clean:
	rm -rf .venv results

.venv/ready: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Prumo needs Python 3.11 or newer; try make PYTHON=python3.11")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable '.[test]'
	touch $@

# A browser for the tests of pages, NGINX for those of the server's stack, Docker for those of
# container images, and debootstrap for Caffe's environment; while they are missing, the tests that
# need them skip and say so, and the next `make test` tries again.
.venv/system-packages: .venv/ready
	@missing=""; \
	command -v chromium >/dev/null || missing="chromium"; \
	command -v nginx >/dev/null || [ -x /usr/sbin/nginx ] || missing="$$missing nginx"; \
	[ -x /usr/sbin/debootstrap ] || missing="$$missing debootstrap debian-archive-keyring gpgv"; \
	command -v dockerd >/dev/null || missing="$$missing docker.io"; \
	if [ -n "$$missing" ] && command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $$missing && missing=""; \
	fi; \
	if [ -z "$$missing" ]; then touch $@; \
	else echo "not installed:" $$missing "(tests that need them will skip)"; fi
