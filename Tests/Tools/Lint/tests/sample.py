"""A small repository for the tests, for which the checks report nothing."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from lint.package import Package  # noqa: E402
from lint.tree import Tree  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))))

ARCHITECTURE = """# Sample

See [the loop](loop.md#turns-and-turns) and `Sources/Waiting`; `ClockWork` turns.

```
tool    ──▶ Waiting
Waiting ──▶ Values
```

| target | reason | one responsibility | depends on |
|---|---|---|---|
| `Values` | product: must not see `CLinux` | values | nothing |
| `Waiting` | layer: must not see `CNothing` | waits | CLinux, Values |
| `tool` | process: must not link `CNothing` | the command | swift-system, Waiting |
| `CLinux` | – | the kernel | – |
| `CNothing` | – | nothing | – |

| module or function | used only by |
|---|---|
| `CLinux` | `Waiting` |
| `CNothing` | no target |
| `epoll_wait`, `poll` | `Waiting` |
| `Foundation` | no target |
"""

TEXTS = {
    "README.md": "# Read\n\n`make test`, `make verify STEP='lap 2'` and [the rules](docs/loop.md), [above](#read)\n",
    "CHANGELOG.md": "# Changelog\n\n## [1.2.0] - unreleased\n\n## 1.1.0 - 2026-11-21\n",
    "Makefile": "test: ## Tests.\n\ttrue\nverify:\n\ttrue\n",
    "Config/install.mk": "install:\n\ttrue\n",
    "Tests/Tools/Gate/verify": "list() {\n  cat <<STEPS\nlap|60|Sources|make -s lap\nnamed|60||named\nSTEPS\n}\n",
    "docs/architecture.md": ARCHITECTURE,
    "docs/loop.md": "# Loop\n\n## `Turns` and [turns](../README.md)\n\n## Loop\n\n[second](#loop-1)\n\n```\n[no link](nowhere)\n```\n",
    "Sources/Values/ClockWork.swift": "/// `docs/loop.md` has the rules.\npublic struct ClockWork {}\n",
    "Sources/Waiting/Loop.swift": "internal import CLinux\npublic import Values\nfunc turn() { epoll_wait(1) }\n",
    "Sources/CLinux/shim.h": "// the kernel\n",
    "Sources/tool/Program.swift": 'enum Program {\n    static let version = "1.2.0"\n}\n',
    "Sources/tool/Tool.swift": 'import SystemPackage\nimport Waiting\nlet text = "poll("\n',
    "Tests/Tools/Lint/longer": "# none\n",
}


def target(name, kind="regular", own=(), products=(), path=None):
    dependencies = [{"byName": [other, None]} for other in own]
    dependencies += [{"product": [product, package, None, None]} for product, package in products]
    return {"name": name, "type": kind, "dependencies": dependencies} | ({"path": path} if path else {})


def package(**changed):
    targets = {
        "CLinux": target("CLinux", "system"), "CNothing": target("CNothing", "system"), "Values": target("Values"),
        "Waiting": target("Waiting", own=["Values", "CLinux"]),
        "tool": target("tool", "executable", own=["Waiting"], products=[("SystemPackage", "swift-system")]),
    }
    products = [{"name": "Values", "type": {"library": ["automatic"]}, "targets": ["Values"]},
                {"name": "tool", "type": {"executable": None}, "targets": ["tool"]}]
    return Package.of_dump({"targets": list((targets | changed).values()), "products": products})


def tree(**texts):
    return Tree("/nowhere", TEXTS, TEXTS)


def messages(findings):
    return [str(finding) for finding in findings]
