"""The main threads of lantern/lantern-docs: the code tabs, the translation, and what readers stumble over."""

from pipelines.demo.story.cast import CI, DOCS
from pipelines.demo.story.github.script import (
    Hunk,
    Thread,
    close,
    edit,
    edit_opener,
    issue,
    label,
    merge,
    note,
    pull,
    push,
    reply,
    review,
    say,
)

__all__ = ["THREADS"]

TABS_HTML = Hunk(
    "theme/partials/tabs.html",
    """
@@ -1,12 +1,18 @@
-<div class="tabs">
-  <div class="tab active" onclick="show('toml')">TOML</div>
-  <div class="tab" onclick="show('env')">Environment</div>
""",
)
TABS_NEW = Hunk(
    "theme/partials/tabs.html",
    """
@@ -1,12 +1,18 @@
-<div class="tabs">
-  <div class="tab active" onclick="show('toml')">TOML</div>
-  <div class="tab" onclick="show('env')">Environment</div>
+<div class="tabs" role="tablist" aria-label="Configuration">
+  <button role="tab" aria-selected="true" aria-controls="toml">TOML</button>
+  <button role="tab" aria-selected="false" aria-controls="env">Environment</button>
""",
)
TABS_JS = Hunk(
    "theme/tabs.js",
    """
@@ -0,0 +1,34 @@
+list.addEventListener("keydown", (event) => {
+  if (event.key === "ArrowRight") select(next(event.target));
+  if (event.key === "ArrowLeft") select(previous(event.target));
+  event.preventDefault();
""",
)
ZH = Hunk(
    "docs/zh/concepts.md",
    """
@@ -0,0 +1,44 @@
+# 概念
+
+Lantern 是一个缓存代理。它把上游的回应保存下来,
+在回应过期之前直接回答客户端。
+
+## 新鲜度
+
+一个回应是“新鲜的”,只要它的年龄小于 `max-age`。
""",
)

THREADS = [
    Thread(
        "a11y", "08-06 18:30",
        issue(DOCS, "freja", "Code tabs cannot be used with a keyboard or a screen reader", """
            I use NVDA. Every code sample of the manual has two tabs ("TOML", "Environment"). What I hear:

            > "TOML Environment, clickable, clickable"

            No role, no state, no focus. I cannot reach the second tab by keyboard at all. So half of the
            configuration reference does not exist for me.

            What the pattern should be: https://www.w3.org/WAI/ARIA/apg/patterns/tabs/
            """, "accessibility"),
        say("12h", "ines-r", """
            Thank you for writing down what you *hear*. I had never heard our manual. I have now, for an hour, and I
            would like to apologise.

            /earshot label priority=high area=theme
            """),
        say("2h", "freja", "That is the first time that a maintainer tried it. Usually I get a link to the roadmap."),
        say("3d", "pete-q", "Does it affect many people?"),
        say("1h 4m", "freja", """
            It affects everybody who cannot use a mouse today. Last year that was half of your readers' wrists.
            """),
        say("20m", "maya", "And even if it were one. 💛"),
        say("29d", "freja", """
            A friendly reminder, because five weeks have gone by. I would gladly
            test a branch. I would *not* gladly write one.
            """),
        say("3h", "ines-r", """
            You are right to ask. I had hoped that somebody who knows ARIA would turn up. I start on Monday.
            """),
        say("34d", "ines-r", "#{code-tabs}: please tear it apart."),
        close("6d"),
        say("2d", "freja", """
            Read the whole configuration reference today, by keyboard, in one go. It took me eleven minutes. Thank you.
            """),
    ),
    Thread(
        "zh", "08-13 01:40",
        issue(DOCS, "liu-yan", "Chinese translation: who could review it?", """
            I have translated the first six pages (概念, 安装, 配置, …). None of the maintainers reads Chinese, so
            how shall we do the review? 我可以找一位朋友帮忙。

            /earshot label area=i18n
            """, "i18n"),
        say("7h", "ines-r", """
            What a gift! 谢谢! Could two readers of Chinese check each page, and I only check that it builds?
            """),
        say("1h", "haruki", """
            I can read a good part of it, and can at least tell when a sentence is missing. 漢字は少し読めます。
            """),
        say("5h", "liu-yan", "好的! Then: a friend for the language, @haruki for completeness, @ines-r for the build."),
        say("8d", "liu-yan", "First batch: #{zh-concepts}"),
    ),
    Thread(
        "search-swr", "08-19 10:15",
        issue(DOCS, "benji", "Search finds nothing for `stale-while-revalidate`", """
            But `stale` finds it. Is it the dashes?
            """),
        say("2h", "ines-r", "It is the dashes: the index splits at them, the query does not."),
        label("1m", "bug"),
        say("1d", "ines-r", "Fixed with the new search build. Try it?"),
        say("3h", "benji", "Works! 🔎"),
        close("10m"),
    ),
    Thread(
        "purge-ban", "08-25 12:00",
        issue(DOCS, "benji", "What is the difference between purge and ban?", """
            I read both pages twice. As far as I understand: purge removes *one* key now, and ban makes *matching*
            ones invalid when they are next asked for? If that is right I could write it down.
            """, "question"),
        say("1h 30m", "kofi", "That is right, and in one sentence, which the manual needs two pages for."),
        say("20m", "ines-r", """
            Please write exactly that sentence at the top of both pages. Then the rest may stay long.
            """),
        say("3d", "benji", "Done in #{purge-sentence} 😊"),
        close("2d"),
    ),
    Thread(
        "token-docs", "08-13 15:40",
        issue(DOCS, "sanvi", "The token page contradicts the README", """
            README: "changes are picked up at once". Manual: "restart after a change". After #{tokens} both will
            be wrong: it is *within five seconds*. What operators need is the order:

            1. create the new token
            2. write it to the file
            3. wait at least one poll (5 s) plus your longest request
            4. only then revoke the old one
            """, "docs"),
        say("3h", "ines-r", "I will put those four lines into the manual word for word, once the code is merged."),
        say("19d", "ines-r", "Published: https://docs.lantern.example/security/tokens#rotation"),
        say("2h", "sanvi", "Correct, and short. Thank you."),
        close("1m"),
    ),
    Thread(
        "contrast", "09-08 17:10",
        issue(DOCS, "freja", "Dark mode: inline code has a contrast of 2.9 : 1", """
            `#6b7280` on `#1f2430`. A friend with low vision sends you this screenshot of a grey rectangle.
            4.5 : 1 is the minimum: https://www.w3.org/WAI/WCAG22/Understanding/contrast-minimum.html
            """, "accessibility"),
        say("40m", "ines-r", "Measured, confirmed. `#9ca3af` would be 6.1 : 1. Good enough, or do we want more?"),
        say("1h", "freja", "6.1 is good. More would shimmer for some."),
        say("1d 2h", "ines-r", "Published. And there is a check in CI now, so that it stays."),
        close("5m"),
    ),
    Thread(
        "versions", "09-29 14:00",
        issue(DOCS, "odile", "The manual only knows the newest version", """
            I run 0.9 on six nodes which I may not touch until January. The manual describes 0.10. Guess how often I
            set a key that does not exist yet.
            """),
        say("5h", "ines-r", """
            Would a version switch at the top be enough, or do you need to *search* in the old one as well?
            """, "switch"),
    ),
    Thread(
        "zh-concepts", "08-21 03:20",
        pull(DOCS, "liu-yan", "zh/concepts", "zh: 概念, 安装, 配置", """
            First three pages, for #{zh}. 欢迎指正!
            """, "i18n"),
        say("7m", CI, "✅ built in 38 s · 3 pages new · 0 broken links"),
        review("9h", "haruki", "COMMENTED", """
            I compared paragraph by paragraph. Nothing is missing. One question about a word.
            """, "r"),
        note("2m", "haruki", ZH, """
            新鲜度 for “freshness”: in Japanese texts about HTTP we write 鮮度. Is this the usual word in Chinese
            too, or would it make readers think of fish? 🐟
            """, "fresh", lines=4, under="r"),
        reply("5h", "liu-yan", "fresh", "哈哈! Both. But it is what MDN's Chinese pages use, so readers will know it."),
        reply("30m", "haruki", "fresh", "Then 新鲜度 it is. 了解です。"),
        note("1d", "ines-r", Hunk("mkdocs.yml", """
@@ -18,4 +18,8 @@ plugins:
   - search:
-      lang: en
+      lang: [en, zh]
"""), "Does the Chinese search need `jieba`? The build log says that it falls back to single characters.", "jieba"),
        reply("3h", "liu-yan", "jieba", """
            Yes, better with it. Added to `requirements.txt`. 缓存 now finds 缓存 and not 缓 and 存.
            """),
        push("2m", "mkdocs.yml"),
        review("2h", "ines-r", "APPROVED", "Builds, searches, and looks beautiful. 谢谢!"),
        merge("4m", "ines-r"),
    ),
    Thread(
        "code-tabs", "10-12 09:40",
        pull(DOCS, "ines-r", "theme/code-tabs", "Code tabs that can be heard and reached", """
            For #{a11y}. Buttons instead of divs, `role="tab"`, arrow keys, a visible focus, and without JavaScript
            both samples are simply shown one after the other.
            """, "accessibility"),
        say("6m", CI, "✅ built in 41 s · axe: 0 violations (before: 212)"),
        review("5h", "freja", "CHANGES_REQUESTED", """
            So much better already: "TOML, tab, selected, one of two". Two things
            still trap me, and one is a question of taste.
            """, "r"),
        note("4m", "freja", TABS_JS, """
            `preventDefault` for **every** key. I press Tab to leave, and stay. I press Ctrl+F, and nothing. This is
            a keyboard trap (https://www.w3.org/WAI/WCAG22/Understanding/no-keyboard-trap.html). Only for the keys
            that you handle, please.
            """, "trap", lines=4, under="r"),
        note("6m", "freja", TABS_NEW, """
            Both buttons are in the tab order, so I walk through all of them. Only the selected one should be
            (`tabindex="0"`), the other gets `-1`:

            ```suggestion
              <button role="tab" aria-selected="true" aria-controls="toml" tabindex="0">TOML</button>
              <button role="tab" aria-selected="false" aria-controls="env" tabindex="-1">Environment</button>
            ```
            """, "tabindex", lines=2, under="r"),
        note("2m", "maya", TABS_HTML, "I wrote these divs. I am sorry.", "sorry", lines=2, side="LEFT"),
        reply("1h", "freja", "sorry", "Everybody wrote these divs."),
        reply("2h", "ines-r", "trap", """
            Oh no. Fixed, and there is a test now which presses Tab and expects to be somewhere else.
            """),
        reply("3m", "ines-r", "tabindex", "Taken as suggested."),
        push("10m", "theme/tabs.js", "theme/partials/tabs.html"),
        say("6m", CI, "✅ built in 41 s · axe: 0 violations · keyboard test: 14 passed"),
        reply("1d", "freja", "trap", "I got out! 🔓"),
        review("20m", "freja", "APPROVED", """
            Tested with NVDA + Firefox, VoiceOver + Safari, and with a keyboard alone. Ship it.
            """),
        merge("30m", "ines-r"),
        say("2h", "ines-r", """
            Live. Thank you for your patience, @freja. It should not have needed so much of it.
            """, "live"),
        edit("5m", "live", """
            Live: https://docs.lantern.example/configuration. Thank you for your patience, @freja. It should not
            have needed so much of it.
            """),
    ),
    Thread(
        "glossary", "10-23 11:20",
        issue(DOCS, "liu-yan", "glossary for translators", """
            We are three translators now (zh, ja, de) and each of us has another word for *upstream*. Could we have
            one page with the agreed words? I would begin with 30 terms. 上游 / 上流 / „Origin“ …
            """, "i18n"),
        edit_opener("4m", title="A glossary for translators"),
        say("3h", "haruki", """
            Yes please. アップストリーム is what everybody says, 上流 is what I would like them to say.
            """),
        say("1d 2h", "ines-r", """
            Good idea. A table with a column for each language? Who decides when two translators disagree?
            """, "decides"),
    ),
]  # fmt: skip
