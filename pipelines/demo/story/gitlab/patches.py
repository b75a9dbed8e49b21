"""The diffs that the console's reviewers talk about."""

from pipelines.demo.story.gitlab.script import Patch

ROW = Patch(
    "src/table/NodeRow.svelte",
    """
@@ -1,14 +1,16 @@
 <script lang="ts">
-  export let node;
-  export let selected = [];
+  import type { Node } from "../api/types";
+
+  let { node, selected = $bindable(new Set<string>()) }: Props = $props();
+  const isSelected = $derived(selected.has(node.id));
 </script>
 
-<div class="row" on:click={() => selected.push(node)}>
+<tr aria-selected={isSelected}>
""",
    old_path="src/NodeTable.svelte",
)
TABLE = Patch(
    "src/table/NodeTable.svelte",
    """
@@ -0,0 +1,31 @@
+<script lang="ts">
+  import NodeRow from "./NodeRow.svelte";
+  import { compare } from "./sorting";
+
+  let { nodes, column = "name" } = $props();
+  const sorted = $derived(nodes.sort((a, b) => compare(a, b, column)));
""",
    is_new=True,
)
SORTING = Patch(
    "src/table/sorting.ts",
    """
@@ -3,9 +3,11 @@ import type { Node } from "../api/types";
 export function compare(a: Node, b: Node, column: Column): number {
   const [x, y] = [a[column], b[column]];
-  return x > y ? 1 : -1;
+  if (x === y) return a.id.localeCompare(b.id);
+  return x > y ? 1 : -1;
 }
""",
)
HEADER = Patch(
    "src/table/SortHeader.svelte",
    """
@@ -8,6 +8,9 @@
 <th scope="col" aria-sort={direction}>
-  <span on:click={toggle}>{title}</span>
+  <button type="button" onclick={toggle}>
+    {title}
+    <span class="visually-hidden">{direction === "none" ? "not sorted" : direction}</span>
+  </button>
 </th>
""",
)
MENU = Patch(
    "src/table/RowMenu.svelte",
    """
@@ -0,0 +1,22 @@
+<button
+  aria-haspopup="true"
+  aria-expanded={open}
+  onclick={() => (open = !open)}
+>
+  ⋯
+</button>
""",
    is_new=True,
)
WINDOW = Patch(
    "src/log/window.ts",
    """
@@ -0,0 +1,38 @@
+/** The lines of the log that are on the screen, and how far they are from its top. */
+export function visible(lines: string[], scrollTop: number, height: number): Window {
+  const first = Math.floor(scrollTop / LINE);
+  const count = Math.ceil(height / LINE) + 2 * SPARE;
+  const from = Math.max(0, first - SPARE);
+  return { from, lines: lines.slice(from, from + count), offset: from * LINE };
+}
""",
    is_new=True,
)
FOLLOW = Patch(
    "src/log/Log.svelte",
    """
@@ -22,11 +22,14 @@
   function append(batch: string[]) {
-    for (const line of batch) {
-      list.appendChild(render(line));
-    }
-    list.scrollTop = list.scrollHeight;
+    lines.push(...batch);
+    if (following) {
+      box.scrollTop = box.scrollHeight;
+    }
   }
""",
)
FIND = Patch(
    "src/log/find.ts",
    """
@@ -0,0 +1,24 @@
+export function find(lines: string[], words: string): number[] {
+  const pattern = new RegExp(words, "i");
+  return lines.flatMap((line, n) => (pattern.test(line) ? [n] : []));
+}
""",
    is_new=True,
)
DRAW = Patch(
    "src/graphs/HitRate.svelte",
    """
@@ -31,12 +31,11 @@
   $effect(() => {
-    svg.innerHTML = "";
-    svg.append(draw(points));
+    diff(svg, draw(points));
   });
""",
)
DIFF = Patch(
    "src/graphs/diff.ts",
    """
@@ -12,8 +12,17 @@ export function diff(parent: Element, wanted: Element) {
   for (const child of wanted.children) {
     const known = parent.querySelector(`#${child.id}`);
-    known?.remove();
-    parent.append(child);
+    if (!known) {
+      parent.append(child);
+      continue;
+    }
+    for (const name of child.getAttributeNames()) {
+      known.setAttribute(name, child.getAttribute(name)!);
+    }
""",
)
DIALOG = Patch(
    "src/purge/ConfirmPurge.svelte",
    """
@@ -0,0 +1,44 @@
+<script lang="ts">
+  let { cluster, onconfirm } = $props();
+  let typed = $state("");
+  const matches = $derived(typed === cluster.name);
+</script>
+
+<dialog>
+  <p>This removes <strong>everything</strong> from {cluster.name}.</p>
""",
    is_new=True,
)
PURGE_API = Patch(
    "server/routes/purge.ts",
    """
@@ -17,6 +17,9 @@ router.post("/clusters/:id/purge", async (request, reply) => {
   const cluster = await clusters.get(request.params.id);
+  if (request.body.confirm !== cluster.name) {
+    return reply.code(409).send({ error: "type the name of the cluster" });
+  }
   await purge(cluster, "*");
""",
)
MOCKUP = "design/purge-dialog.png"
LOGO = "static/favicon.png"
SESSION = Patch(
    "server/session.ts",
    """
@@ -40,8 +40,14 @@ export class Sessions {
   async end(token: string): Promise<void> {
-    // the browser deletes its cookie
+    await this.db.run("insert into revoked (digest, until) values (?, ?)", digest(token), in14Days());
   }
 
   async of(token: string): Promise<Session | null> {
-    return verify(token, this.key);
+    const session = verify(token, this.key);
+    return session && (await this.isRevoked(token)) ? null : session;
   }
""",
)
CLOCK = Patch(
    "src/time/format.ts",
    """
@@ -1,7 +1,12 @@
-export const time = (at: Date) => at.toISOString().slice(11, 16);
+export function time(at: Date, zone: string): string {
+  const parts = new Intl.DateTimeFormat(locale(), {
+    hour: "2-digit",
+    minute: "2-digit",
+    timeZone: zone,
+    timeZoneName: "short",
+  });
+  return parts.format(at);
+}
""",
)
THEME = Patch(
    "src/theme/night.css",
    """
@@ -0,0 +1,36 @@
+:root[data-theme="night"] {
+  --ground: #12141a;
+  --text: #d7d9e0;
+  --quiet: #5a6070;
+  --warm: #ffb454;
+  --alarm: #ff5c57;
""",
    is_new=True,
)
OLD_THEME = Patch(
    "src/theme.css",
    """
@@ -4,9 +4,6 @@ body {
   background: white;
-  color: #222;
-  /* TODO: a dark one */
-  --text: #222;
""",
)
CLIENT = Patch(
    "src/api/client.gen.ts", "@@ -1,4000 +1,4100 @@\n-// 0.10\n+// 1.0", is_collapsed=True, is_generated=True
)
FIXTURES = Patch("tests/fixtures/recorded.json", "@@ -1 +1 @@\n-{}\n+{}", is_too_large=True)
OPENAPI = Patch(
    "api/openapi.yaml",
    """
@@ -211,6 +211,10 @@ paths:
       responses:
         "200":
           description: what each node is doing
+        "206":
+          description: some nodes did not answer in time; `missing` names them
+        "503":
+          description: no node answered
""",
)
EXPORT = Patch(
    "src/table/export.ts",
    """
@@ -0,0 +1,12 @@
+export function csv(rows: Node[]): string {
+  return rows.map((row) => Object.values(row).join(",")).join("\\n");
+}
""",
    is_new=True,
)
RETRIES = Patch(
    "playwright.config.ts",
    """
@@ -14,7 +14,7 @@ export default defineConfig({
   reporter: [["list"], ["junit", { outputFile: "report.xml" }]],
-  retries: 3,
+  retries: 0,
""",
)
PURGE_TEST = Patch(
    "tests/purge.spec.ts",
    """
@@ -9,8 +9,8 @@ test("asks for the name", async ({ page }) => {
   await page.getByRole("button", { name: "Purge everything" }).click();
-  await page.waitForTimeout(200);
-  await page.keyboard.type("staging");
+  await page.getByLabel("Name of the cluster").fill("staging");
""",
)
PLURALS = Patch(
    "src/i18n/count.ts",
    """
@@ -0,0 +1,18 @@
+const rules = new Map<string, Intl.PluralRules>();
+
+export function count(n: number, forms: Forms, locale: string): string {
+  const rule = rules.get(locale) ?? new Intl.PluralRules(locale);
+  rules.set(locale, rule);
+  return forms[rule.select(n)].replace("{n}", n.toLocaleString(locale));
+}
""",
    is_new=True,
)
SPINNER = Patch(
    "src/Spinner.svelte",
    '@@ -1,9 +0,0 @@\n-<div class="spinner" role="status">\n-  <span class="dot"></span>\n-</div>',
    is_deleted=True,
)
LABELS = Patch(
    "src/axis/labels.ts",
    """
@@ -6,7 +6,12 @@ export function labels(ticks: Tick[], width: number): Tick[] {
-  return ticks;
+  let every = 1;
+  while (tooWide(ticks, every, width)) {
+    every += 1;
+  }
+  return ticks.filter((_, n) => n % every === 0);
 }
""",
)
SCALE = Patch(
    "src/axis/scale.ts",
    """
@@ -21,6 +21,13 @@ export function linear(domain: Range, range: Range): Scale {
 }
+
+export function logarithmic(domain: Range, range: Range): Scale {
+  const [low, high] = domain.map(Math.log10);
+  return (value) => range[0] + ((Math.log10(value) - low) / (high - low)) * (range[1] - range[0]);
+}
""",
)
