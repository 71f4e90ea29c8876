"""src/globals.md lists the variables of src/ that outlive a call and may change: global, static, thread-local ones."""

import re
from pathlib import Path

SRC = Path(__file__).resolve().parent.parent / "src"
LOCKS = set(re.findall(r"^TEMPI_LOCK\((\w+),", (SRC / "base/lock_order.def").read_text(), re.MULTILINE))
ROW = re.compile(r"^\| `([\w/.]+)` \| (`\w+`(?:, `\w+`)*) \| (.+?) \| (.+?) \|$", re.MULTILINE)
ROWS = ROW.findall((SRC / "globals.md").read_text())

KEYWORDS = r"(?:\[\[.*?\]\] )?(?:(?:inline|static|constinit|thread_local) )+"
CONSTANT = re.compile(r"^(?:const [^*]*$|const .*\* const\b|constexpr\b|using\b|extern\b)")
NOT_A_TYPE = r"(?!return|throw|delete|using|struct|class|enum|namespace|template|friend|case|goto|typedef|union)"
TYPE = NOT_A_TYPE + r"[\w:]+(?:<(?:[^()]|\([\w:]+\))*>)?[ *&]+"
# A declarator behind its type, and behind others of the same type: `name{0}`, `name = 0`, `name[3]`, `name;`.
NAME = r"(\w+)(?=\{|;| = |\[|,| =$)"


def code(path):
    """Without comments, macros of several lines, and the contents of strings."""
    text = re.sub(r"\\\n.*", "", path.read_text())
    text = re.sub(r"//.*", "", text)
    return re.sub(r'"[^"\n]*"', '""', text)


def declared(line):
    """The variables with a static lifetime that a line declares."""
    keywords = re.match(rf"\s*{KEYWORDS}", line)
    if line.startswith("#") or (line[:1].isspace() and not keywords):
        return []
    rest = line[keywords.end() :] if keywords else line
    first = re.match(rf"(?:const )?{TYPE}(?:const )?{NAME}", rest)
    if not first or CONSTANT.match(first[0]):
        return []
    more = re.findall(r"\}, (\w+)(?=\{)", rest)
    return [first[1], *more]


def found():
    files = sorted(p for p in SRC.rglob("*") if p.suffix in (".cpp", ".hpp", ".cu"))
    return {(str(p.relative_to(SRC)), name) for p in files for line in code(p).splitlines() for name in declared(line)}


def test_the_table_has_every_variable_and_no_other():
    listed = {(file, name) for file, names, _, _ in ROWS for name in re.findall(r"\w+", names)}
    assert found() - listed == set()
    assert listed - found() == set()


def test_locks_in_the_table_exist():
    for *_, lock in ROWS:
        assert set(re.findall(r"`(\w+)`", lock)) <= LOCKS
