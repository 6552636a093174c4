"""The totals of a coverage report of `swift test --enable-code-coverage`."""

import os


def totals(report, root):
    """Returns the number of lines and of covered lines of each target in Sources, by the name of the target."""
    found = {}
    for unit in report["data"]:
        for file in unit["files"]:
            path = os.path.relpath(file["filename"], root)
            if path.startswith("Sources/"):
                lines = file["summary"]["lines"]
                count, covered = found.get(path.split("/")[1], (0, 0))
                found[path.split("/")[1]] = (count + lines["count"], covered + lines["covered"])
    return found
