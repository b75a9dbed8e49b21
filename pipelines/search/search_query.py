"""What somebody types into a search, as an expression for FTS5. Everything is quoted: nothing can be typed wrong, and
what has a meaning for FTS5 alone (`NEAR(`, `AND`, brackets) is words like any other.

`"a phrase"`, the beginning of a word with `tok*`, and `-not this` mean what they mean everywhere.

Chinese and Japanese are written without spaces, and a Korean word carries its particles: a run of such letters would be
one word that nobody asks for. So each of them is a word of its own, in the index and in what is asked; what is typed in
one piece is a phrase, and finds just the text that has it.
"""

import re
from dataclasses import dataclass

__all__ = ["APART", "Wanted", "apart", "wanted"]

LONGEST = 2_000  # characters that are looked at
MOST = 32  # words
PART = re.compile(r'(-?)"([^"]*)"|(\S+)')
ENDINGS = re.compile(r"(?<=\w{4})(?:ations?|ating|ated|ates?|ions?|ings?|ers?|ed|es|s|e)$")
APART = "\x01"  # parts words like any control character, and is in nothing that is shown
# Jamo, kana, Bopomofo, Hangul, Han with its extensions and iteration marks, the halfwidth forms
LETTERS = (
    "\u1100-\u11ff\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    "\u3105-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97c\uac00-\ud7fb\uf900-\ufaff\uff66-\uffdc"
    "\U00020000-\U0003ffff"
)
LETTER, RUN = re.compile(f"[{LETTERS}]"), re.compile(f"[{LETTERS}]+")
BORDER = re.compile(rf"(?<=[{LETTERS}])(?=\w)|(?<=\w)(?=[{LETTERS}])")
EMPTY = """
a about again also am an and any are as at be been before being but by can could did discuss discussed do does doing
done for from get had has have he her here how i if in into is it its just me my no nor not of off on or our out over
own said same say says she should so some somebody such than that the their them then there these they this those
through to too under up us very was we were what when where which while who whom whose why will with would you your
"""
STOP = frozenset(EMPTY.split())


@dataclass(frozen=True)
class Wanted:
    """`all_of`: documents that have every word. `some_of`: those with some of them, also in another form; empty where
    that is no different."""

    all_of: str = ""
    some_of: str = ""

    def __bool__(self) -> bool:
        return bool(self.all_of)


def wanted(text: str) -> Wanted:
    """Words that say nothing by themselves count only if there are no others."""
    must, plain, never = list[str](), list[str](), list[str]()
    for minus, phrase, word in PART.findall(text[:LONGEST].replace("\x00", " ")):
        said = phrase or word.replace('"', " ")
        if word.startswith("-") and _has_words(word[1:]):
            never.append(_beginning(word[1:]) if word.endswith("*") else _quoted(word[1:]))
        elif not _has_words(said):
            continue
        elif minus:
            never.append(_quoted(phrase))
        elif phrase:
            must.append(_quoted(phrase))
        elif said.endswith("*"):
            must.append(_beginning(said))
        else:
            plain.append(said)
    told = [word for word in plain if word.casefold().strip("?!.,:;()'’") not in STOP]
    plain = (told or ([] if must else plain))[:MOST]
    must, never = must[:MOST], never[:MOST]
    if not must and not plain:
        return Wanted()
    all_of = " AND ".join([*must, *map(_quoted, plain)])
    if not plain:
        return Wanted(_without(all_of, never))
    forms = f"({' OR '.join(map(_forms, plain))})"
    some_of = " AND ".join([*must, forms]) if len(plain) > 1 or not must else ""
    return Wanted(_without(all_of, never), _without(some_of, never) if some_of else "")


def apart(text: str) -> str:
    """Every letter of a script without spaces is a word of its own."""
    return BORDER.sub(APART, text) if LETTER.search(text) else text


def _forms(word: str) -> str:
    """The word and its other endings: `rotating` finds `rotation`. Of letters without spaces any two neighbours."""
    if pairs := [run[n : n + 2] for run in RUN.findall(word) for n in range(max(1, len(run) - 1))][:MOST]:
        rest = [part for part in RUN.sub(" ", word).split() if _has_words(part)]
        return f"({' OR '.join(map(_quoted, [*pairs, *rest[:MOST]]))})"
    bare = word.casefold().strip("?!.,:;()'’")
    stem = ENDINGS.sub("", bare) if bare.isalpha() else bare
    return f"{_quoted(stem)} *" if stem != bare and _has_words(stem) else _quoted(word)


def _beginning(said: str) -> str:
    return f"{_quoted(said.rstrip('*'))} *"


def _without(expression: str, never: list[str]) -> str:
    return f"({expression}) NOT ({' OR '.join(never)})" if never else expression


def _quoted(text: str) -> str:
    return '"' + apart(text.replace('"', "").replace(APART, " ")) + '"'


def _has_words(text: str) -> bool:
    """The index knows letters and digits; the rest parts them."""
    return any(char.isalnum() for char in text)
