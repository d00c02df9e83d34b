"""Draw the rooms of src/robula from their imports, between the two markers of ARCHITECTURE.md.

    python scripts/draw_house.py

tests/test_architecture_page.py fails where the page shows another drawing.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.test_architecture import CORE, FILES, MAY_IMPORT, imports, room_of, rooms_used  # noqa: E402

PAGE = ROOT / "ARCHITECTURE.md"
BEGIN = "<!-- drawn by scripts/draw_house.py: begin -->"
END = "<!-- drawn by scripts/draw_house.py: end -->"


def used_rooms() -> dict[str, set[str]]:
    """What each room imports of the others."""
    used: dict[str, set[str]] = {room: set() for room in MAY_IMPORT if room != "__main__"}
    for path in FILES:
        if room_of(path) in used:
            used[room_of(path)] |= rooms_used(imports(path)) & set(used) - {room_of(path)}
    return used


def direct(used: dict[str, set[str]]) -> dict[str, set[str]]:
    """The arrows that no longer way round replaces; the rooms have no circles (tests/test_architecture.py)."""
    reached: dict[str, set[str]] = {}

    def reach(room: str) -> set[str]:
        if room not in reached:
            reached[room] = set().union(*({other} | reach(other) for other in used[room]))
        return reached[room]

    return {room: {one for one in rooms if not any(one in reach(two) for two in rooms)} for room, rooms in used.items()}


def drawing() -> str:
    """The block of the page: a diagram, and a table of all imports."""
    used = used_rooms()
    order = [room for room in CORE if room in used] + [room for room in used if room not in CORE]
    arrows = [f"    {one} --> {room}" for room in order for one in order if one in direct(used)[room]]
    files = {room: sum(room_of(path) == room for path in FILES) for room in order}
    side = [f"    class {','.join(room for room in order if room not in CORE)} side"]
    lines = ["```mermaid", "flowchart LR", *(f'    {room}["{room} ({files[room]})"]' for room in order), *arrows]
    lines += ["    classDef side stroke-dasharray: 4 4", *side, "```", ""]
    lines += ["| room | files | imports |", "|---|---|---|"]
    for room in order:
        names = ", ".join(one for one in order if one in used[room]) or "nothing but the shared modules"
        lines.append(f"| {room} | {files[room]} | {names} |")
    return "\n".join(lines)


def page_with(drawn: str, page: str) -> str:
    """Return the page with its block replaced."""
    before, _, rest = page.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise SystemExit(f"{PAGE.name} needs the lines {BEGIN} and {END}, in this order.")
    return f"{before}{BEGIN}\n{drawn}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page_with(drawing(), PAGE.read_text(encoding="utf-8")), encoding="utf-8")
