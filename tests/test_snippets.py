"""Every snippet in README.md and docs/, and every example, is run.

In a Markdown file,

- ```python blocks run in order in one namespace, which is fresh for each file;
- in ```console blocks every line `$ dalenius ...` must exit 0, and where output is printed below it,
  that must be its output (runs of white space count as one space); other commands are not run. Those of README.md are
  processes of their own; those of other pages run inside of this one, which spares it the imports;
- the home page, the tutorials and the how-to pages are followed from top to bottom, commands and Python in one folder;
- blocks of any other kind are left alone, but a Python snippet under another name is an error:
  it would never be run.
"""

from __future__ import annotations

import ast
import os
import re
import shlex
import subprocess
import sys
import textwrap
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dalenius.cli.main import app

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
IN_ORDER = [
    ROOT / "docs" / "index.md",
    *sorted((ROOT / "docs" / "tutorials").glob("*.md")),
    *sorted((ROOT / "docs" / "how-to").glob("*.md")),
]
APART = [page for page in PAGES if page not in IN_ORDER]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
DALENIUS = (str(Path(sys.executable).with_name("dalenius")),)
TIMEOUT = 300

FENCE = re.compile(r"^\s*(?P<ticks>`{3,}|~{3,})\s*(?P<info>.*?)\s*$")
NEVER_RUN = {"py", "python3", "pycon", "ipython", "doctest", "{.python}", "shell-session"}


class SnippetError(AssertionError):
    """A snippet that does not do what its page says."""


ARROW = re.compile(r"#\s*->\s*(?P<value>.*)$")
NUMBER = re.compile(r"[-+]?\d+\.?\d*(e[-+]?\d+)?")


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, the line of the file its text starts on, and the text."""

    language: str
    line: int
    text: str


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a Markdown file, in order."""
    opening: tuple[str, str, int] | None = None
    body: list[str] = []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        fence = FENCE.match(line)
        if opening is None:
            if fence:
                words = fence["info"].split()
                opening, body = (fence["ticks"], words[0].lower() if words else "", number), []
                if opening[1] in NEVER_RUN:
                    raise SnippetError(
                        f"{page.name}:{number}: a {opening[1]!r} block is never run; "
                        "call it python or console, or text if it is not meant to run"
                    )
        elif fence and fence["ticks"].startswith(opening[0]) and not fence["info"]:
            yield Block(opening[1], opening[2] + 1, textwrap.dedent("\n".join(body)) + "\n")
            opening = None
        else:
            body.append(line)
    if opening is not None:
        raise SnippetError(f"{page.name}:{opening[2]}: this block is never closed")


def run_python(page: Path, run: Run | None = None) -> int:
    """Run the python blocks of a page in one namespace, and the commands between them if told how; count them."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    count = 0
    for block in blocks(page):
        if run is not None and block.language == "console":
            count += run_commands(page, block, run)
        if block.language != "python":
            continue
        count += 1
        try:
            # The blank lines in front make a traceback point at the line of the page.
            run_block("\n" * (block.line - 1) + block.text, str(page), namespace)
        except (Exception, SystemExit) as error:
            where = f"the python block at {page.name}:{block.line}"
            raise SnippetError(f"{where} raised {type(error).__name__}: {error}") from error
    return count


def run_block(text: str, name: str, namespace: dict[str, object]) -> None:
    """Run statements; an expression with a comment `# -> value` must have that value."""
    lines = text.splitlines()
    for node in ast.parse(text, name).body:
        told = ARROW.search(lines[(node.end_lineno or node.lineno) - 1])
        if isinstance(node, ast.Expr) and told:
            value = eval(compile(ast.Expression(node.value), name, "eval"), namespace)
            if not agrees(value, told["value"]):
                raise SnippetError(f"line {node.end_lineno} gives {value!r}, not {told['value']}")
        else:
            exec(compile(ast.Module([node], []), name, "exec"), namespace)


def agrees(value: object, told: str) -> bool:
    """Whether the text starts with the value, a float with as many digits as are told."""
    if told.startswith(repr(value)):
        return True
    number = NUMBER.match(told)
    if not isinstance(value, float) or number is None:
        return False
    digits = len(re.sub(r"e.*|\D", "", number[0]).lstrip("0")) or 1
    return float(f"{value:.{digits}g}") == float(number[0])


def commands(block: Block) -> Iterator[tuple[str, str]]:
    """The (command, printed output) pairs of a console block; `\\` at the end continues a command."""
    lines = block.text.splitlines()
    while lines:
        line = lines.pop(0)
        if not line.startswith("$ "):
            if line.strip():
                raise SnippetError(f"output before any `$ command`: {line!r}")
            continue
        command = line[2:]
        while command.endswith("\\") and lines:
            command = command[:-1] + lines.pop(0).removeprefix(">").lstrip()
        output = []
        while lines and not lines[0].startswith("$ "):
            output.append(lines.pop(0))
        yield command, "\n".join(output)


TERMINAL = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb", "PYTHONIOENCODING": "utf-8"}

Run = Callable[[list[str]], tuple[int, str, str]]
"""The words after `dalenius` to an exit code, what is printed, and complaints."""


def started(*program: str) -> Run:
    """A process for each command."""

    def run(words: list[str]) -> tuple[int, str, str]:
        env = os.environ | TERMINAL
        done = subprocess.run(
            [*program, *words],
            env=env,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=TIMEOUT,
        )
        return done.returncode, done.stdout, done.stderr

    return run


def called(words: list[str]) -> tuple[int, str, str]:
    """The program in this process."""
    done = CliRunner().invoke(app, words, env=TERMINAL, prog_name="dalenius")
    return done.exit_code, done.stdout, done.stderr


def run_console(page: Path, run: Run) -> int:
    """Run the `$ dalenius` commands of a page and compare their output; how many there were."""
    return sum(run_commands(page, block, run) for block in blocks(page) if block.language == "console")


def run_commands(page: Path, block: Block, run: Run) -> int:
    """Run the `$ dalenius` commands of a block and compare their output; how many there were."""
    count = 0
    for command, printed in commands(block):
        words = shlex.split(command)
        if words[:1] != ["dalenius"]:
            continue
        count += 1
        where = f"`{command}` at {page.name}:{block.line}"
        if set(words) & {"|", ">", ">>", "<", "&&", "||", ";"}:
            raise SnippetError(f"{where}: only plain commands are run, no shell syntax")
        code, told, complaints = run(words[1:])
        if code != 0:
            raise SnippetError(f"{where} exited {code}:\n{told}{complaints}")
        if printed.strip() and printed.split() != told.split():
            raise SnippetError(f"{where} printed\n{told}\nbut the page says\n{printed}")
    return count


def run_example(path: Path) -> None:
    """Run one example as a program of its own."""
    env = os.environ | {"MPLBACKEND": "Agg", "PYTHONIOENCODING": "utf-8"}
    run = subprocess.run(
        [sys.executable, str(path)],
        env=env,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=TIMEOUT,
    )
    if run.returncode != 0:
        raise SnippetError(f"{path.name} exited {run.returncode}:\n{run.stdout}{run.stderr}")


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Snippets run in an empty folder and draw into no window."""
    folder = tmp_path / "run"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MPLBACKEND", "Agg")


@pytest.mark.parametrize("page", IN_ORDER, ids=_name)
def test_pages_to_follow(page: Path) -> None:
    run_python(page, called)


@pytest.mark.parametrize("page", APART, ids=_name)
def test_python_snippets(page: Path) -> None:
    run_python(page)


@pytest.mark.parametrize("page", APART, ids=_name)
def test_console_snippets(page: Path) -> None:
    run_console(page, started(*DALENIUS) if page.name == "README.md" else called)


def test_examples() -> None:
    """In one test, so that a folder without examples is a pass and not a skip."""
    for path in EXAMPLES:
        run_example(path)


class TestTheRunner:
    """The tests above are worth something only if a broken snippet breaks them."""

    @staticmethod
    def page(folder: Path, text: str) -> Path:
        path = folder / "page.md"
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    @staticmethod
    def echo(folder: Path) -> Run:
        """A stand-in for `dalenius` that prints its arguments and fails when told to."""
        script = folder / "echo.py"
        script.write_text("import sys\nprint(*sys.argv[1:], sep='  ')\nsys.exit('fail' in sys.argv)\n")
        return started(sys.executable, str(script))

    def test_blocks_share_a_namespace(self, tmp_path: Path) -> None:
        page = self.page(
            tmp_path, "```python\nx = 1\n```\n- in a list\n  ```python\n  assert x == 1\n  ```\n"
        )
        assert run_python(page) == 2

    @pytest.mark.parametrize(
        ("line", "right"),
        [
            ("1 + 1  # -> 2", True),
            ("1 + 1  # -> 3", False),
            ("2 / 3  # -> 0.6667, about", True),
            ("2 / 3  # -> 0.6666", False),
            ("20000.4 / 1e9  # -> 2e-05", True),
            ("(True, 'a')  # -> (True, 'a'): so", True),
            ("[0.1]  # -> [0.2]", False),
            ("x = 5  # -> 6", True),
        ],
    )
    def test_what_is_told_is_what_comes_out(self, tmp_path: Path, line: str, right: bool) -> None:
        page = tmp_path / "page.md"
        page.write_text(f"```python\n{line}\n```\n", encoding="utf-8")
        if right:
            assert run_python(page) == 1
        else:
            with pytest.raises(SnippetError, match="gives"):
                run_python(page)

    def test_pages_do_not_share_a_namespace(self, tmp_path: Path) -> None:
        run_python(self.page(tmp_path, "```python\nx = 1\n```\n"))
        with pytest.raises(SnippetError, match="NameError"):
            run_python(self.page(tmp_path, "```python\nx\n```\n"))

    @pytest.mark.parametrize("broken", ["assert 1 == 2", "1 +", "raise SystemExit(0)", "import not_there"])
    def test_a_broken_snippet_fails(self, tmp_path: Path, broken: str) -> None:
        page = self.page(tmp_path, f"# Title\n\n```python\nx = 1\n```\n\n```python\n{broken}\n```\n")
        with pytest.raises(SnippetError, match=r"page\.md:8"):
            run_python(page)

    def test_a_traceback_points_into_the_page(self, tmp_path: Path) -> None:
        with pytest.raises(SnippetError) as caught:
            run_python(self.page(tmp_path, "text\n\n```python\nx = 1\n1 / 0\n```\n"))
        assert isinstance(caught.value.__cause__, ZeroDivisionError)
        frames = traceback.extract_tb(caught.value.__cause__.__traceback__)
        assert frames[-1].lineno == 5

    def test_snippets_run_in_an_empty_folder(self, tmp_path: Path) -> None:
        page = self.page(tmp_path, "```python\nimport os\nassert os.listdir() == []\n```\n")
        assert run_python(page) == 1

    @pytest.mark.parametrize("fence", ["```py", "~~~pycon", "``` Python3"])
    def test_a_block_that_would_never_run_is_refused(self, tmp_path: Path, fence: str) -> None:
        with pytest.raises(SnippetError, match="never run"):
            run_python(self.page(tmp_path, f"{fence}\nx\n{fence[:3]}\n"))

    def test_a_block_left_open_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(SnippetError, match="never closed"):
            run_python(self.page(tmp_path, "```python\nx = 1\n"))

    def test_other_blocks_are_left_alone(self, tmp_path: Path) -> None:
        page = self.page(
            tmp_path, "```text\n1 / 0\n```\n```\n1 / 0\n```\n````text\n```python\n1 / 0\n```\n````\n"
        )
        assert run_python(page) == 0

    def test_console_output_is_compared(self, tmp_path: Path) -> None:
        text = '```console\n$ make x\nwhatever\n$ dalenius a \\\n    "b c"\na b\n  c\n\n$ dalenius d\n```\n'
        assert run_console(self.page(tmp_path, text), self.echo(tmp_path)) == 2

    @pytest.mark.parametrize(
        ("text", "complaint"),
        [
            ("$ dalenius fail", "exited 1"),
            ("$ dalenius a\nb", "printed"),
            ("$ dalenius a\na\nb", "printed"),
            ("$ dalenius a | cat", "shell syntax"),
            ("dalenius a", "before any"),
        ],
    )
    def test_a_broken_command_fails(self, tmp_path: Path, text: str, complaint: str) -> None:
        with pytest.raises(SnippetError, match=complaint):
            run_console(self.page(tmp_path, f"```console\n{text}\n```\n"), self.echo(tmp_path))

    def test_a_broken_example_fails(self, tmp_path: Path) -> None:
        script = tmp_path / "broken.py"
        script.write_text("raise RuntimeError('broken')\n")
        with pytest.raises(SnippetError, match="broken"):
            run_example(script)
