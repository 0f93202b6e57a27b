# make demo      adopts three devices on this machine, without Docker; KEEP=1 leaves it up
# make demo-real the same on real SLURM, OpenStack and cloud-init, in containers
# make idle      an idle worker's memory and CPU, of the release build; three minutes once it is built
# make test      everything: format, lints, unit tests, and the adoption on real services
# make images    the container images that the tests use
# make tools     Temporal's server, CLI and Python SDK, and buf, in .venv

.PHONY: demo demo-real idle test images tools
.DEFAULT_GOAL := test

demo:
	@tests/demo.sh

demo-real:
	@tests/demo.sh --real

idle:
	@tests/idle.sh

test:
	@tests/run.sh

images:
	@tests/images/engine.sh
	@tests/images/build.sh

tools:
	@tests/tools.sh
