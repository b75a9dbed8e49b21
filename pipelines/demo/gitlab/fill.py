"""Past activity in bulk: the worlds of size tests and benchmarks, the same at every run."""

from dataclasses import dataclass
from random import Random

import pendulum
from pendulum import DateTime

from pipelines.demo.gitlab.around import Around
from pipelines.demo.gitlab.project import Project
from pipelines.demo.gitlab.state import FileDiff, Issuable, MergeRequest, Position, Spot
from pipelines.demo.server.fill_text import prose

PEOPLE = [f"person-{n:02}" for n in range(40)]
PATHS = [f"src/{name}.ts" for name in ("table", "chart", "filter", "session", "router", "theme")]
DIFF = "@@ -10,3 +10,4 @@ export function read() {\n   const page = fetch();\n+  keep(page);\n   return page;\n"
LABELS = ["bug", "feature", "docs", "area::table", "area::charts"]
SPREAD = 0.9  # the share of the period in which things are opened
THREAD_DAYS = 6


@dataclass(frozen=True)
class Amounts:
    merge_requests: int
    issues: int
    discussions: int
    notes: int


def fill(world: Around, project: Project, amounts: Amounts, days: int) -> None:
    """Openers evenly over the last `days`, each with its discussions within the days after it."""
    random = Random(f"{project.path_with_namespace} {amounts}")
    end = world.now
    start, span = end.timestamp() - days * 86400, days * 86400 - 1
    plan = [(SPREAD * i / amounts.merge_requests, 0, "merge_request", i) for i in range(amounts.merge_requests)]
    plan += [(SPREAD * i / amounts.issues, 0, "issue", i) for i in range(amounts.issues)]
    for opened, _, kind, i in list(plan):
        width = min(THREAD_DAYS / days, 1 - opened)
        for n in range(amounts.discussions):
            plan.append((opened + width * (n + 1) / (amounts.discussions + 1), 1 + n, kind, i))
    parents: dict[tuple[str, int], Issuable] = {}
    for share, step, kind, i in sorted(plan):
        world.now = pendulum.from_timestamp(start + share * span)
        if step == 0:
            parents[kind, i] = _open(project, kind, i, random)
        else:
            _discuss(project, parents[kind, i], amounts.notes, random, end)
    world.now = end


def stir(world: Around, project: Project, changes: int) -> None:
    """New notes, edits and resolved threads in as many merge requests, a minute and a second apart."""
    random = Random(len(world.history))
    merge_requests = list(project.merge_requests.values())
    for mr in random.sample(merge_requests, min(changes, len(merge_requests))):
        world.advance(seconds=61)
        threads, chance = mr.threads, random.random()
        if threads and chance < 0.3:
            project.edit_note(random.choice(threads).notes[-1], prose(random))
        elif threads and chance < 0.5 and (first := threads[0].notes[0]).is_resolvable:
            project.resolve(first, random.choice(PEOPLE))
        else:
            project.comment(mr, random.choice(PEOPLE), prose(random))


def _open(project: Project, kind: str, i: int, random: Random) -> Issuable:
    who, text, label = random.choice(PEOPLE), prose(random), random.choice(LABELS)
    if kind == "issue":
        return project.open_issue(who, f"Trouble {text[-40:]}", text, labels=[label])
    path = random.choice(PATHS)
    return project.open_merge_request(
        who,
        f"Change {text[-40:]}",
        text,
        source=f"feature/{i}",
        labels=[label],
        reviewers=[random.choice(PEOPLE)],
        diffs=[FileDiff(path, path, DIFF)],
    )


def _discuss(project: Project, parent: Issuable, notes: int, random: Random, end: DateTime) -> None:
    """Half of them on the diff, some resolved. The notes come minutes apart, so that they touch and do not touch."""
    position = None
    if isinstance(parent, MergeRequest) and random.random() < 0.5:
        path, line = random.choice(PATHS), random.randrange(1, 400)
        position = Position(path, path, parent.refs, Spot(line, line + 1, "new"))
    first = project.start_thread(parent, random.choice(PEOPLE), prose(random), position)
    for _ in range(notes - 1):
        project.world.now = min(end, project.world.now.add(seconds=random.randrange(20, 600)))
        project.reply(first, random.choice(PEOPLE), prose(random))
    if first.is_resolvable and random.random() < 0.4:
        project.resolve(first, random.choice(PEOPLE))
