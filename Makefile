.PHONY: check format test long storm bench demo
PYTHON ?= python
SEED ?= 1

check:          ## exactly what CI runs
	ruff format --check .
	ruff check .
	mypy
	pytest
	pytest -m ci --dist loadfile

format:
	ruff format .
	ruff check --fix .

test:
	pytest

long:           ## random histories and kill loops at length (half an hour)
	EARSHOT_LONG=1 pytest -m 'ci or not ci'

storm:          ## a million random operations, a thousand kills -9 (an hour); SEED=2 for another
	$(PYTHON) -m tests.storm --operations 1000000 --kills 1000 --density 1.3 --workers 2 --seed $(SEED)

bench:          ## ratios to a floor measured in the same run
	$(PYTHON) -m bench

demo:
	$(PYTHON) pipelines/run.py --demo
