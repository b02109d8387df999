"""Formulas in Markdown: what stands in them is no markup, so it is kept as it was written."""

import re

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

_INLINE = re.compile(
    r"\$\$(?:(?!\n[ \t]*\n)[^$])+\$\$"
    r"|\$(?![\s\d$])[^$\n]*?(?<![\s\\])\$(?![\w$])"  # a price is no formula
    r"|\\\((?:(?!\n[ \t]*\n).)+?\\\)"
    r"|\\\[(?=(?:(?!\\\]).)*?(?:\\(?!\])|[\^_={}]))(?:(?!\n[ \t]*\n).)+?\\\](?!\()",  # others are escaped brackets
    re.DOTALL,
)
_CLOSING = {"$$": re.compile(r"\$\$[\s.,;:]*$"), "\\[": re.compile(r"\\\][\s.,;:]*$")}


def keep_formulas(parser: MarkdownIt) -> MarkdownIt:
    r"""The parser with tokens `formula` (in a line) and `formula_block` for TeX in `$…$`, `$$…$$`, `\(…\)` and `\[…\]`."""
    parser.inline.ruler.before("escape", "formula", _inline)
    parser.block.ruler.before("fence", "formula_block", _block, {"alt": ["paragraph", "blockquote", "list"]})
    return parser


def _inline(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] not in "$\\" or _follows_a_word(state):
        return False
    found = _INLINE.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    if not silent:
        state.push("formula", "", 0).content = found[0]
    state.pos = found.end()
    return True


def _follows_a_word(state: StateInline) -> bool:
    return state.src[state.pos] == "$" and state.pos > 0 and state.src[state.pos - 1].isalnum()


def _block(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:
    """Several lines, which might look like a list or a heading; a formula that is not closed (yet) is ordinary text."""
    closing = _CLOSING.get(_line(state, start_line)[:2])
    if closing is None or state.is_code_block(start_line):
        return False
    for line in range(start_line + 1, end_line):
        if state.isEmpty(line) or state.sCount[line] < state.blkIndent:
            return False
        if closing.search(_line(state, line)):
            if not silent:
                _push(state, start_line, line + 1)
            return True
    return False


def _line(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]


def _push(state: StateBlock, start_line: int, end_line: int) -> None:
    state.line = end_line
    token = state.push("formula_block", "", 0)
    token.content = state.getLines(start_line, end_line, state.blkIndent, keepLastLF=False).rstrip("\n")
    token.map = [start_line, end_line]
