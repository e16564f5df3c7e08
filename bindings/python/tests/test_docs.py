"""What the documents show is run."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("page", ["README.md", "../../README.md"])
def test_python_of_the_pages_runs(page, tmp_path):
    text = (HERE / page).read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert blocks, "the page has no example"
    for block in blocks:
        done = subprocess.run([sys.executable, "-c", block], cwd=tmp_path, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, f"{block}\n{done.stderr}"


def test_the_notebook_runs(tmp_path):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    pytest.importorskip("matplotlib")
    pytest.importorskip("pandas")
    notebook = nbformat.read(HERE / "docs" / "parts.ipynb", as_version=4)
    client = nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3")
    client.execute(cwd=str(tmp_path))
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    shown = [kind for output in outputs for kind in output.get("data", {})]
    assert shown.count("image/png") >= 2, "plots"
    assert any("iframe" in str(output.get("data", {}).get("text/html", "")) for output in outputs), "the report"


@pytest.mark.parametrize("module", ["mpulearn", "mpulearn.losses", "mpulearn.risks", "mpulearn._native"])
def test_stubs_match_the_code(module):
    code = importlib.import_module(module)
    path = Path(code.__file__).parent / (module.removeprefix("mpulearn").removeprefix(".") or "__init__")
    tree = ast.parse(path.with_suffix(".pyi").read_text())
    seen = set()
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name != "_Scorer":
            seen.add(node.name)
            for member in node.body:
                if isinstance(member, ast.FunctionDef):
                    compare(member, getattr(getattr(code, node.name), member.name), f"{node.name}.{member.name}")
        elif isinstance(node, ast.FunctionDef):
            seen.add(node.name)
            compare(node, getattr(code, node.name), node.name)
        elif isinstance(node, ast.AnnAssign):
            seen.add(node.target.id)
    public = set(getattr(code, "__all__", [])) or {
        name for name, value in vars(code).items() if inspect.isroutine(value) or inspect.isclass(value)
    }
    missing = {name for name in public if not name.startswith("_")} - seen - {"losses", "risks", "NamedTuple"}
    assert not missing, f"{module}: without a stub"


def compare(stub, found, name):
    """The parameters of a stub and of the code have the same names, order and defaults."""
    if isinstance(found, property):
        return
    signature = inspect.signature(found)
    given = [p for p in signature.parameters.values() if p.name != "self"]
    arguments = stub.args.posonlyargs + stub.args.args + stub.args.kwonlyargs
    names = [argument.arg for argument in arguments if argument.arg not in ("self", "cls")]
    assert [p.name for p in given] == names, name
    defaults = stub.args.defaults + [default for default in stub.args.kw_defaults if default is not None]
    wanted = [ast.literal_eval(default) for default in defaults]
    assert [p.default for p in given if p.default is not p.empty] == wanted, name
