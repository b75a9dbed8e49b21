"""How the reading page is laid out: the list beside the discussion, where there is room for both."""

from pipelines.ask.query.names import short_id
from pipelines.charts.page import AMBER, BLUE, BOX, GREY, LINE

__all__ = ["beside"]

CODE = "font-family: ui-monospace, 'DejaVu Sans Mono', Menlo, monospace; font-size: .78rem"
STYLE = f"""<style>
.er {{display: flex; gap: 1.2rem; height: calc(100vh - 11rem); min-height: 28rem; font-size: .9rem; line-height: 1.5}}
.er > nav {{flex: 0 0 22rem; min-width: 0; overflow-y: auto; padding-right: .4rem}}
.er > main {{flex: 1 1 0; min-width: 0; {BOX}}}
.er article {{height: 100%; overflow-y: auto; padding: 1rem 1.4rem 2rem}}
.er .row {{border-top: {LINE}}}
.er .row:hover {{background: rgba(128, 128, 128, .1)}}
.er .title {{font-size: 1.3rem; font-weight: 650; line-height: 1.3; margin: 0; overflow-wrap: anywhere}}
.er .part {{font-size: 1rem; font-weight: 650; margin: 1.8rem 0 .4rem; border-bottom: {LINE}}}
.er .file {{{CODE}; font-weight: 650; margin: 1.2rem 0 .4rem; overflow-wrap: anywhere}}
.er a {{color: {BLUE}; white-space: nowrap}}
.er .facts {{{GREY}; font-size: .82rem; margin: .2rem 0}}
.er .said {{max-width: 52rem; margin-top: 1rem}}
.er .head {{font-size: .82rem; margin-bottom: .15rem}}
.er .tag {{{BOX}; padding: 0 .4rem; font-size: .72rem; white-space: nowrap; display: inline-block; max-width: 100%;
    overflow: hidden; text-overflow: ellipsis; vertical-align: bottom; line-height: 1.3}}
.er .team {{color: {AMBER}; border-color: {AMBER}}}
.er .about {{{BOX}; padding: .1rem 1rem 1rem; margin: .8rem 0; max-width: 60rem}}
.er .here {{border: 2px solid {BLUE}}}
.er .place {{margin-top: .7rem}}
.er .when {{{GREY}}}
.er .answer {{margin-left: 1.2rem}}
.er .words {{white-space: pre-wrap; overflow-wrap: anywhere; margin: .2rem 0}}
.er .code, .er .diff {{{CODE}; {BOX}; margin: .5rem 0; white-space: pre; overflow-x: auto; line-height: 1.45}}
.er .code {{padding: .5rem .8rem}}
.er code {{{CODE}; background: rgba(128, 128, 128, .14); border-radius: .2rem; padding: 0 .2rem}}
.er .diff div {{min-width: max-content; padding-right: .8rem}}
.er .diff i, .er .diff b {{display: inline-block; opacity: .6; font: inherit; user-select: none}}
.er .diff i {{width: 3.2rem; text-align: right; padding-right: .6rem}}
.er .diff b {{width: 1.2rem}}
.er .gone, .er del {{background: rgba(224, 82, 82, .2)}}
.er .new, .er ins {{background: rgba(53, 165, 115, .22); text-decoration: none}}
.er .changes {{{BOX}; padding: .5rem .8rem; font-size: .85rem}}
.er summary {{cursor: pointer; {GREY}; font-size: .82rem}}
.er .deleted .words, .er .deleted .code {{opacity: .6}}
.er .linked {{background: none; border: 0; outline: 0; color: {BLUE}; font-size: .72rem}}
@media (max-width: 900px) {{
    .er {{flex-direction: column; height: auto}}
    .er > nav {{flex: none; height: 26rem}}
    .er article {{height: auto; padding: .8rem}}
}}
</style>"""


def beside(left: str, thread: str, parent_key: str) -> str:
    """The chosen one is marked in the list, which is not made anew for it. Another one begins at its top."""
    marked = (
        f'<style>.er [data-thread="{short_id(parent_key)}"] {{background: rgba(36, 130, 201, .16) !important}}</style>'
    )
    shown = f'<article key="{short_id(parent_key)}">{thread}</article>'  # React's key
    return f'{STYLE}{marked}<div class="er" data-earshot="reader"><nav>{left}</nav><main>{shown}</main></div>'
