"""Slurm on hosts of hosts.py: munged and slurmd on each, slurmctld on the first."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Sequence

from hosts import Hosts

START_SECONDS = 60.0
CPUS = 4  # of a host, as Slurm is told; this machine may have fewer
PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sbatch")
_PATH = f"{os.environ['PATH']}:/usr/sbin"

# State lies in each host's own /tmp.
_CONF = """
ClusterName=tests
SlurmctldHost={first}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=/tmp/munge.socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
MpiDefault=none
SlurmctldPidFile=/tmp/slurmctld.pid
SlurmdPidFile=/tmp/slurmd.pid
SlurmdSpoolDir=/tmp/slurmd
StateSaveLocation=/tmp/slurmctld
SlurmctldLogFile=/tmp/slurmctld.log
SlurmdLogFile=/tmp/slurmd.log
KillWait=2
NodeName={all} CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE OverSubscribe=FORCE:4 State=UP
"""


def why_not() -> str | None:
    """The reason why there can be no Slurm here, and what to do."""
    missing = [name for name in PROGRAMS if shutil.which(name, path=_PATH) is None]
    return f"no {', '.join(missing)}: apt-get install slurm-wlm munge" if missing else None


class Slurm:
    def __init__(self, hosts: Hosts) -> None:
        self.hosts = hosts
        self._daemons: list[subprocess.Popen[bytes]] = []
        self._conf = hosts.folder / "slurm.conf"
        self._conf.write_text(_CONF.format(first=hosts.names[0], all=",".join(hosts.names), cpus=CPUS))
        key = hosts.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(stat.S_IRUSR | stat.S_IWUSR)
        try:
            for name in hosts.names:
                files = ("key-file", key), ("socket", "/tmp/munge.socket"), ("pid-file", "/tmp/munge.pid")
                own = ("log-file", "/tmp/munge.log"), ("seed-file", "/tmp/munge.seed")
                self._start(name, "munged", "--foreground", "--force", *(f"--{k}={v}" for k, v in (*files, *own)))
            self._start(hosts.names[0], "slurmctld", "-D")
            for name in hosts.names:
                self._start(name, "slurmd", "-D")
            self._wait_until_idle()
        except BaseException:
            self.close()
            raise

    def _start(self, name: str, *command: str) -> None:
        daemon = subprocess.Popen(
            [*self.on(name), *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._daemons.append(daemon)

    def on(self, name: str) -> list[str]:
        """The beginning of a command on a host."""
        path = f"{os.path.dirname(sys.executable)}:{_PATH}"
        return [*self.hosts.on(name), "env", f"SLURM_CONF={self._conf}", f"PATH={path}"]

    def run(self, command: Sequence[str], environment: dict[str, str], timeout: float = 60) -> str:
        """A command on the first host; it must succeed."""
        done = subprocess.run(
            [*self.on(self.hosts.names[0]), *command], env=environment, capture_output=True, text=True, timeout=timeout
        )
        assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
        return done.stdout

    def run_batch(self, options: Sequence[str], script: str, environment: dict[str, str], timeout: float = 60) -> None:
        """A batch job. `sbatch --wait` would look for its end every 10 s."""
        job = self.run(["sbatch", "--parsable", *options, script], environment).strip()
        end = time.monotonic() + timeout
        while state := self.run(["squeue", "--noheader", f"--jobs={job}", "--format=%T"], environment):
            assert time.monotonic() < end, f"job {job} is still {state}"
            time.sleep(0.2)

    def _states(self) -> list[str]:
        ask = [*self.on(self.hosts.names[0]), "sinfo", "--noheader", "--Node", "--format=%T"]
        return subprocess.run(ask, capture_output=True, text=True).stdout.split()

    def _wait_until_idle(self) -> None:
        end = time.monotonic() + START_SECONDS
        while self._states() != ["idle"] * len(self.hosts.names):
            if time.monotonic() > end:
                raise RuntimeError(f"Slurm did not start: its hosts are {self._states()}\n{self._logs()}")
            time.sleep(0.5)

    def _logs(self) -> str:
        command = [*self.hosts.on(self.hosts.names[0]), "sh", "-c", "tail -n 20 /tmp/*.log"]
        return subprocess.run(command, capture_output=True, text=True).stdout

    def close(self) -> None:
        for daemon in reversed(self._daemons):
            daemon.kill()
            daemon.wait()
