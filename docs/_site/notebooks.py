"""Every tutorial also as a notebook: the same text, the same code, to be downloaded from its page.

MkDocs runs `on_files` and `on_page_markdown` (mkdocs.yml, hooks).
"""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

FOLDER = "tutorials/"
BLOCK = re.compile(r"^```(?P<kind>python|console)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?P<page>[\w./-]+)\.md(?P<anchor>#[\w-]+)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for file in [x for x in files if is_tutorial(x)]:
        text = Path(file.abs_src_path or "").read_text(encoding="utf-8")
        name = file.src_uri.removesuffix(".md") + ".ipynb"
        files.append(File.generated(config, name, content=nbformat.writes(notebook(text)) + "\n"))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    if not is_tutorial(page.file):
        return markdown
    title, rest = markdown.split("\n", 1)
    name = Path(page.file.src_uri).stem
    return f"{title}\n\n[:material-download: This page as a notebook]({name}.ipynb){{ .md-button download }}\n{rest}"


def is_tutorial(file: File) -> bool:
    return (
        file.src_uri.startswith(FOLDER)
        and file.src_uri.endswith(".md")
        and not file.src_uri.endswith("index.md")
    )


def notebook(text: str) -> nbformat.NotebookNode:
    """Python and commands become cells to run, what is between them becomes text."""
    cells = []

    def say(words: str) -> None:
        if words.strip():
            cells.append(nbformat.v4.new_markdown_cell(LINK.sub(r"](../\g<page>/\g<anchor>)", words.strip())))

    end = 0
    for block in BLOCK.finditer(text):
        say(text[end : block.start()])
        code = block["text"].rstrip()
        if block["kind"] == "console":
            code = commands(code)
        cells.append(nbformat.v4.new_code_cell(code))
        end = block.end()
    say(text[end:])
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return nbformat.v4.new_notebook(cells=cells, metadata=kernel)


def commands(text: str) -> str:
    """The lines that are typed, for a cell; what was printed is printed again when it runs."""
    lines, typed = [], False
    for line in text.splitlines():
        if line.startswith("$ "):
            lines.append("!" + line[2:])
            typed = line.endswith("\\")
        elif typed:
            lines.append(line)
            typed = line.endswith("\\")
    return "\n".join(lines)
