.PHONY: check format test long bench demo
PYTHON ?= python

check:          ## exactly what CI runs
	ruff format --check .
	ruff check .
	mypy
	pytest -n 2 --dist worksteal

format:
	ruff format .
	ruff check --fix .

test:
	pytest

long:           ## random histories and kill loops at length (half an hour)
	EARSHOT_LONG=1 pytest -n 2 --dist worksteal

bench:          ## ratios to a floor measured in the same run
	$(PYTHON) -m bench

demo:
	$(PYTHON) pipelines/run.py --demo
