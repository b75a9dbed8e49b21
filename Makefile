.PHONY: check format test long bench demo
PYTHON ?= python

check:          ## exactly what CI runs
	ruff format --check .
	ruff check .
	mypy
	pytest
	pytest -m ci

format:
	ruff format .
	ruff check --fix .

test:
	pytest

long:           ## random histories and kill loops at length (half an hour)
	EARSHOT_LONG=1 pytest -m 'ci or not ci'

bench:          ## ratios to a floor measured in the same run
	$(PYTHON) -m bench

demo:
	$(PYTHON) pipelines/run.py --demo
