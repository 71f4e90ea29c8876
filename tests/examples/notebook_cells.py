"""Runs the code cells of a notebook, as Jupyter does, and prints what they would show."""

import ast
import json
import sys
from pathlib import Path

names = {}
for cell in json.loads(Path(sys.argv[1]).read_text())["cells"]:
    if cell["cell_type"] != "code":
        continue
    body = ast.parse("".join(cell["source"])).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), "cell", "exec"), names)
    shown = eval(compile(ast.Expression(last.value), "cell", "eval"), names) if last else None
    print(shown._repr_html_() if hasattr(shown, "_repr_html_") else shown)
