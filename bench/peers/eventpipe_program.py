"""EventPipe's program: restored and built once with the .NET SDK, like the program of the interop tests."""
import fcntl
import hashlib
import pathlib

from bench.judge import points
from bench.peers.rig import Failed, Missing
from tests.interop import readers as interop

SOURCE = pathlib.Path(points.ROOT) / "bench" / "peers" / "eventpipe"
CACHE = pathlib.Path(points.ROOT) / "build" / "eventpipe"


def build(readers):
    """Restores and builds unless the sources are unchanged since the last time."""
    project = SOURCE / "peer-eventpipe.csproj"
    program = CACHE / "artifacts" / "bin" / "peer-eventpipe" / "release" / "peer-eventpipe.dll"
    sources = [project, *sorted(SOURCE.glob("*.cs"))]
    key = hashlib.sha256(b"\0".join([path.read_bytes() for path in sources] + [readers.sdk.encode()])).hexdigest()
    stamp = CACHE / "built"
    with open(CACHE / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (program.exists() and stamp.exists() and stamp.read_text(encoding="ascii") == key):
            stamp.unlink(missing_ok=True)
            readers.restore_project("Microsoft.Diagnostics.NETCore.Client 0.2.745401 and TraceEvent", project)
            readers.build_project(project)
            stamp.write_text(key, encoding="ascii")
    return program


class EventPipe:
    """The command that runs the program, and its environment. Raises Missing without an SDK or a package source."""

    def __init__(self, workplace):
        # The only module that deals with dotnet and its package sources.
        try:
            readers = interop.Readers(CACHE)
            program = build(readers)
        except interop.Skip as error:
            raise Missing(" ".join(str(error).split())[:300]) from None
        except interop.Failed as error:
            raise Failed(" ".join(str(error).split())[:300]) from None
        self.command = [readers.dotnet, str(program)]
        # The program traces a process that it starts itself. Their sockets are in a folder of ours;
        # the measuring process has none.
        self.environment = workplace.environment({name: value for name, value in readers.env.items()
                                                  if name.startswith(("DOTNET_", "NUGET_"))})
