"""The samples of a soak as an SVG picture, readable on a light and on a dark page."""

WIDTH, PANEL, LEFT, RIGHT, TOP = 760, 150, 90, 20, 34
STYLE = ("text{font:12px sans-serif;fill:#333}.grid{stroke:#bbb}.line{fill:none;stroke:#0969da;stroke-width:1.5}"
         "@media(prefers-color-scheme:dark){text{fill:#ddd}.grid{stroke:#555}.line{stroke:#58a6ff}}")


def _panel(title, times, values, above):
    low, high = min(values), max(values)
    low, high = (low - 1, high + 1) if low == high else (low, high)
    span = max(times[-1] - times[0], 1)
    bottom, height = above + PANEL - 20, PANEL - 20 - TOP

    def point(at, value):
        across = LEFT + (at - times[0]) / span * (WIDTH - LEFT - RIGHT)
        return f"{across:.1f},{bottom - (value - low) / (high - low) * height:.1f}"

    points = " ".join(map(point, times, values))
    parts = [f'<text x="{LEFT}" y="{above + 20}" font-weight="bold">{title}</text>']
    for value, y in (low, bottom), (high, bottom - height):
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>'
                     f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{value:g}</text>')
    return "".join([*parts, f'<polyline class="line" points="{points}"/>'])


def svg(times, series):
    """`series`: {title: values}, one value for each of `times` (seconds)."""
    height = PANEL * len(series) + 26
    panels = [_panel(title, times, values, number * PANEL) for number, (title, values) in enumerate(series.items())]
    axis = (f'<text x="{LEFT}" y="{height - 12}">0 min</text>'
            f'<text x="{WIDTH - RIGHT}" y="{height - 12}" text-anchor="end">{times[-1] / 60:.1f} min</text>')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
            f'height="{height}"><style>{STYLE}</style>{"".join(panels)}{axis}</svg>\n')
