# Everything a newcomer needs: `make demo` and `make test` do their own set-up.
PYTHON ?= python3
BIN := .venv/bin
# Two at a time: most tests wait for processes of their own; more would only train side by side.
PYTEST := $(BIN)/pytest -n 2 --dist loadfile
# The everyday tests need no other framework than PyTorch and no test of minutes.
EVERYDAY := not slow and not frameworks

.PHONY: demo test test-all test-rest lint format bench clean

# The report is made also when a run failed; the exit code is then the run's.
demo: .venv/ready
	@$(BIN)/prumo run studies/demo.yaml; code=$$?; $(BIN)/prumo report results/demo && exit $$code

test: lint .venv/system-packages
	$(PYTEST) -m "$(EVERYDAY)"

test-all: test test-rest

# What `make test` leaves out: every framework, containers, long kill and fuzz runs.
test-rest: .venv/test-ready .venv/more-system-packages .venv/checkov .venv/prometheus
	$(PYTEST) -m "not ($(EVERYDAY))"

lint: .venv/test-ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: .venv/test-ready
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: .venv/test-ready
	$(BIN)/python -m benchmarks

clean:
	rm -rf .venv results

.venv/ready: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Prumo needs Python 3.11 or newer; try make PYTHON=python3.11")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable .
	touch $@

.venv/test-ready: .venv/ready
	$(BIN)/pip install --quiet --editable '.[test]'
	touch $@

# A browser for the tests of pages and NGINX for those of the server's stack; Docker for those of
# container images and debootstrap for Caffe's environment. While a package is missing, the tests
# that need it skip and say so, and the next run tries again.
.venv/system-packages: .venv/test-ready
	@missing=""; \
	command -v chromium >/dev/null || missing="chromium"; \
	command -v nginx >/dev/null || [ -x /usr/sbin/nginx ] || missing="$$missing nginx"; \
	$(INSTALL_MISSING)

# The security scan of the infrastructure pins old versions of what Prumo uses too.
.venv/checkov: .venv/test-ready
	$(PYTHON) -m venv $@ && $@/bin/pip install --quiet 'checkov>=3.2,<4' || rm -rf $@

# Unpacked, not installed: the package would start a service, and its pages need 200 MB.
.venv/prometheus: .venv/more-system-packages
	@fetch="apt-get download -qq -o APT::Sandbox::User=root prometheus"; \
		mkdir -p $@ && cd $@ && { $$fetch || { apt-get update -qq && $$fetch; }; } \
		&& dpkg -x prometheus_*.deb . && rm prometheus_*.deb && touch . \
		|| { rm -rf "$(CURDIR)/$@"; echo "no Prometheus (the test of compose will skip)"; }

.venv/more-system-packages: .venv/system-packages
	@missing=""; \
	[ -x /usr/sbin/debootstrap ] || missing="debootstrap debian-archive-keyring gpgv"; \
	command -v dockerd >/dev/null || missing="$$missing docker.io"; \
	command -v buildah >/dev/null || missing="$$missing buildah podman"; \
	command -v docker-compose >/dev/null || docker compose version >/dev/null 2>&1 || missing="$$missing docker-compose"; \
	$(INSTALL_MISSING)

define INSTALL_MISSING
	if [ -n "$$missing" ] && command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $$missing && missing=""; \
	fi; \
	if [ -z "$$missing" ]; then touch $@; \
	else echo "not installed:" $$missing "(tests that need them will skip)"; fi
endef
