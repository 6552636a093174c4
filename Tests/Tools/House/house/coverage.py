"""What `swift test --enable-code-coverage` leaves, added up."""

import os


def totals(report, root):
    """Lines and covered lines by target."""
    found = {}
    for unit in report["data"]:
        for file in unit["files"]:
            path = os.path.relpath(file["filename"], root)
            if path.startswith("Sources/"):
                lines = file["summary"]["lines"]
                count, covered = found.get(path.split("/")[1], (0, 0))
                found[path.split("/")[1]] = (count + lines["count"], covered + lines["covered"])
    return found
