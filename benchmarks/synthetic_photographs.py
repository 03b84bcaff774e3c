"""A folder of drawn photographs with a table of grades, to try `prumo retina` on.

python -m benchmarks.synthetic_photographs photographs
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

from PIL import Image

from benchmarks.synthetic_fundus import Fundus, fundus

GRADES = (0, 1, 2, 3, 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where they go; made if it is not there")
    parser.add_argument("--per-grade", type=int, default=20, help="photographs of each grade (20)")
    wished = parser.parse_args()
    table = write_photographs(wished.folder, wished.per_grade, width=1024, height=680)
    print(f"{wished.per_grade * len(GRADES)} photographs, and their grades in {table}")


def write_photographs(  # noqa: PLR0913 (each is what tests want otherwise)
    folder: Path,
    count_per_grade: int,
    *,
    width: int = 400,
    height: int = 300,
    grades: tuple[int, ...] = GRADES,
    seed: int = 1,
) -> Path:
    """Write JPEGs named `eye-GRADE-NUMBER.jpg` and the table `labels.csv`; returns the table."""
    folder.mkdir(parents=True, exist_ok=True)
    table = folder / "labels.csv"
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["image", "grade"])
        for grade in grades:
            for number in range(1, count_per_grade + 1):
                name = f"eye-{grade}-{number}.jpg"
                drawn = fundus(width, height, grade=grade, seed=seed * 10_000 + number)
                write_photograph(folder / name, drawn)
                writer.writerow([name, grade])
    return table


def write_photograph(path: Path, drawn: Fundus, *, quality: int = 95) -> Path:
    """Write one; the ending of the path decides the format."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(drawn.pixels).save(path, quality=quality)
    return path


if __name__ == "__main__":
    main()
