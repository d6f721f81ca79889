"""The README's fenced blocks, by heading: what is printed there is what the tests run."""

import pathlib
import re

README = pathlib.Path(__file__).resolve().parents[2] / "README.md"


def blocks(heading):
    """The language and the text of every fenced block below a heading of the second level."""
    section = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", README.read_text(), re.MULTILINE | re.DOTALL)
    if not section:
        raise LookupError(f"README.md has no section {heading!r}")
    return re.findall(r"^```(\w*)\n(.*?)^```$", section[1], re.MULTILINE | re.DOTALL)


def only_block(heading, language):
    """The text of the one block in a language below a heading."""
    found = [text for name, text in blocks(heading) if name == language]
    if len(found) != 1:
        raise LookupError(f"README.md has {len(found)} {language} blocks below {heading!r}, not one")
    return found[0]
