"""Horizontal bars as inline SVG: bars are medians, whiskers the least and the greatest."""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Sequence

from race.results import Spread

WIDTH, LABEL_WIDTH, VALUE_WIDTH = 880, 330, 130
BAR_HEIGHT, GAP = 18, 8


@dataclasses.dataclass(frozen=True)
class Bar:
    """A bar, in the unit of its chart."""

    label: str
    spread: Spread
    ours: bool
    value: str


def bars(title: str, found: Sequence[Bar]) -> str:
    """A chart; every bar begins at zero, and the longest whisker fills the width."""
    longest = max((bar.spread.greatest for bar in found), default=0) or 1
    scale = (WIDTH - LABEL_WIDTH - VALUE_WIDTH) / longest
    height = len(found) * (BAR_HEIGHT + GAP) + GAP
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{html.escape(title)}">',
        f"<title>{html.escape(title)}</title>",
    ]
    for index, bar in enumerate(found):
        top = GAP + index * (BAR_HEIGHT + GAP)
        middle = top + BAR_HEIGHT / 2
        end = LABEL_WIDTH + bar.spread.median * scale
        least, greatest = (LABEL_WIDTH + edge * scale for edge in (bar.spread.least, bar.spread.greatest))
        kind = "ours" if bar.ours else "other"
        parts += [
            f'<text class="label {kind}" x="{LABEL_WIDTH - 8}" y="{middle}">{html.escape(bar.label)}</text>',
            f'<rect class="{kind}" x="{LABEL_WIDTH}" y="{top}" width="{max(end - LABEL_WIDTH, 1):.1f}" '
            f'height="{BAR_HEIGHT}" rx="2"><title>{html.escape(bar.label)}: '
            f"{html.escape(bar.value)}</title></rect>",
            f'<path class="whisker" d="M{least:.1f} {middle}H{greatest:.1f}M{least:.1f} {middle - 4}v8'
            f'M{greatest:.1f} {middle - 4}v8"/>',
            f'<text class="value" x="{max(end, greatest) + 8:.1f}" '
            f'y="{middle}">{html.escape(bar.value)}</text>',
        ]
    return "".join([*parts, "</svg>"])
