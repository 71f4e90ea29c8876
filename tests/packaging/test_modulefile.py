"""packaging/modulefiles/tempi.lua, as Lmod loads it."""

from pathlib import Path

from support import needs, shim
from support.programs import run, tool

ROOT = Path(__file__).resolve().parents[2]
MODULEFILE = ROOT / "packaging" / "modulefiles" / "tempi.lua"


def test_the_module_puts_the_command_alone_into_the_path(tmp_path):
    lmod = needs.lmod()
    (tmp_path / "opt" / "0.1.0" / "bin").mkdir(parents=True)
    (tmp_path / "opt" / "0.1.0" / "bin" / "tempi").symlink_to(tool("tempi"))
    (tmp_path / "modules" / "tempi").mkdir(parents=True)
    text = MODULEFILE.read_text()
    assert '"/opt/tempi"' in text
    text = text.replace('"/opt/tempi"', f'"{tmp_path}/opt"')
    (tmp_path / "modules" / "tempi" / "0.1.0.lua").write_text(text)
    script = f'eval "$({lmod} bash load tempi)"; command -v tempi; command -v python3; tempi lib'
    environment = shim.clean_environment() | {"MODULEPATH": str(tmp_path / "modules")}
    before = run(["bash", "-c", "command -v python3"], environment).out
    done = run(["bash", "-c", script], environment)
    command, python, library = done.out.splitlines()
    assert command == str(tmp_path / "opt" / "0.1.0" / "bin" / "tempi")
    assert python == before.strip()
    assert library.endswith("/libtempi.so")
