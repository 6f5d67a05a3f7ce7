// diagnostics-client PID FOLDER
//
// Does to a process what the NETCore.Client library can do, and prints one line for each step: its
// name, and what the library returned or which exception it threw. Each session is named after the
// command that the library sends for its options. Its line is "running"; it ends when a line comes
// on stdin, and its stream is in FOLDER/NAME.nettrace.

using System.Diagnostics.Tracing;
using System.Reflection;
using Microsoft.Diagnostics.NETCore.Client;

int process = int.Parse(args[0]);
var client = new DiagnosticsClient(process);
var providers = new[] { new EventPipeProvider("Demo", EventLevel.Informational, 0x1) };

Say("published", () => DiagnosticsClient.GetPublishedProcesses().Contains(process));
Say("environment", () => client.GetProcessEnvironment()["WEIR_INTEROP"]);
Say("resume", () => { client.ResumeRuntime(); return "ok"; });
Collect("CollectTracing2", new EventPipeSessionConfiguration(providers, 1, requestRundown: true));
Collect("CollectTracing2-no-rundown", new EventPipeSessionConfiguration(providers, 1, requestRundown: false));
Collect("CollectTracing3", new EventPipeSessionConfiguration(providers, 1, requestRundown: true, requestStackwalk: false));
Collect("CollectTracing4", new EventPipeSessionConfiguration(providers, 1, rundownKeyword: 0x8));
#if BLOCK
var filter = new EventPipeProviderEventFilter(true, [1]);
EventPipeProvider[] filtered = [new("Demo", EventLevel.Verbose, 0x3, null, filter)];
Collect("CollectTracing5", new EventPipeSessionConfiguration(filtered, 1, requestRundown: false));
Collect("CollectTracing6", new EventPipeSessionConfiguration(providers, 1, rundownKeyword: 0x8, true, EventPipeBufferingMode.Block));
#endif
Say("wrong-id", StopWrongId);
Say("dump", () => { client.WriteDump(DumpType.Normal, Path.Combine(args[1], "dump")); return "ok"; });
Say("profiler", () => { client.AttachProfiler(TimeSpan.FromSeconds(5), Guid.NewGuid(), "profiler.so"); return "ok"; });

void Say(string what, Func<object> step)
{
    object result;
    try
    {
        result = step();
    }
    catch (Exception e) when (e is DiagnosticsClientException or IOException)
    {
        result = e.GetType().Name;
    }
    Console.WriteLine($"{what} {result}");
}

void Collect(string name, EventPipeSessionConfiguration configuration) => Say(name, () =>
{
    using EventPipeSession session = client.StartEventPipeSession(configuration);
    using FileStream file = File.Create(Path.Combine(args[1], name + ".nettrace"));
    Task copy = session.EventStream.CopyToAsync(file);
    Console.WriteLine("running");
    Console.ReadLine();
    session.Stop();
    copy.Wait();
    return "ok";
});

// The library only stops its own sessions, so this one gets another's id. It ends when it is
// disposed of.
object StopWrongId()
{
    using EventPipeSession session = client.StartEventPipeSession(providers, requestRundown: false, circularBufferMB: 1);
    FieldInfo id = typeof(EventPipeSession).GetField("_sessionId", BindingFlags.NonPublic | BindingFlags.Instance)!;
    id.SetValue(session, (ulong)id.GetValue(session)! + 1000);
    session.Stop();
    return "ok";
}
