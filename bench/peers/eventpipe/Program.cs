// peer-eventpipe: EventPipe, following ../peer.h like all peers.
//
// Starts itself again as the traced process, opens a session in it from outside, streams that into a file, and lets
// TraceEvent count the events. A discarded session comes first, so that the measured code is compiled.

using System.Diagnostics;
using System.Diagnostics.Tracing;
using System.Text.Json;
using Microsoft.Diagnostics.NETCore.Client;
using Microsoft.Diagnostics.Tracing;

static class Program
{
    const int StopMs = 30_000;

    static int Main(string[] args)
    {
        bool emits = args is ["--emit", ..];
        if (args is ["--help"] or ["-h"])
        {
            Console.WriteLine(Options.Usage);
            return 0;
        }
        try
        {
            Options options = Options.Parse(emits ? args[1..] : args);
            return emits ? Emitter.Run(options) : Trace(options, args);
        }
        catch (ArgumentException e)
        {
            Fail($"{e.Message}; try --help");
            return 2;
        }
        catch (Exception e)
        {
            return Fail($"{e.GetType().Name}: {e.Message}");
        }
    }

    public static int Fail(string what)
    {
        Console.Error.WriteLine($"peer-eventpipe: {what.ReplaceLineEndings(" ")}");
        return 1;
    }

    static int Trace(Options options, string[] args)
    {
        string folder = options.Output != "" ? options.Output : Directory.CreateTempSubdirectory("peer-eventpipe-").FullName;
        string file = Path.Combine(folder, "eventpipe.nettrace");
        try
        {
            using Process traced = Start(args);
            try
            {
                Report(options, Sessions(options, traced, file), file);
            }
            finally
            {
                End(traced);
            }
        }
        finally
        {
            if (options.Output == "")
                Directory.Delete(folder, recursive: true);
        }
        return 0;
    }

    static Process Start(string[] args)
    {
        var start = new ProcessStartInfo(Environment.ProcessPath!) { RedirectStandardInput = true, RedirectStandardOutput = true };
        start.ArgumentList.Add(typeof(Program).Assembly.Location);
        start.ArgumentList.Add("--emit");
        foreach (string arg in args)
            start.ArgumentList.Add(arg);
        start.Environment["DOTNET_EnableDiagnostics"] = "1";
        Process traced = Process.Start(start)!;
        Answer(traced, null);
        return traced;
    }

    /// The traced process ends at end of input and removes its sockets; if it hangs, it is killed.
    static void End(Process traced)
    {
        traced.StandardInput.Close();
        if (!traced.WaitForExit(5000))
            traced.Kill();
        traced.WaitForExit();
    }

    /// Sends a word to the traced process and waits for its reply.
    static string Answer(Process traced, string? word)
    {
        if (word != null)
            traced.StandardInput.WriteLine(word);
        return traced.StandardOutput.ReadLine() ?? throw new InvalidOperationException("the traced process has ended early");
    }

    static (Figures Figures, long End) Sessions(Options options, Process traced, string file)
    {
        Session(options with { Budget = 256L << 20 }, traced, "/dev/null", "warm");
        (string said, long end) = Session(options, traced, file, "go");
        return (JsonSerializer.Deserialize<Figures>(said)!, end);
    }

    static (string Said, long End) Session(Options options, Process traced, string file, string word)
    {
        var client = new DiagnosticsClient(traced.Id);
        var provider = new EventPipeProvider(PeerSource.ProviderName, EventLevel.Informational);
        var configuration = new EventPipeSessionConfiguration([provider], options.Megabytes, requestRundown: false, requestStackwalk: options.Stacks);
        using EventPipeSession session = client.StartEventPipeSession(configuration);
        using var output = new FileStream(file, FileMode.Create, FileAccess.Write);
        Task copied = session.EventStream.CopyToAsync(output);
        Task<string> answered = Task.Run(() => Answer(traced, word));
        Await(answered, copied, traced, Timeout.Infinite); // as long as the run takes
        Await(Task.Run(session.Stop), copied, traced, StopMs);
        Await(copied, copied, traced, StopMs);
        long end = Stopwatch.GetTimestamp();
        Answer(traced, null); // it has seen the end of the session
        return (answered.Result, end);
    }

    /// A session whose stream is no longer read neither stops nor returns from Dispose. In that
    /// case, or after the timeout, kills the traced process and throws the reason.
    static void Await(Task what, Task copied, Process traced, int ms)
    {
        if (Task.WaitAny([what, copied], ms) == 1 && copied.IsCompletedSuccessfully)
            Task.WaitAny([what], ms);
        if (what.IsCompletedSuccessfully && !copied.IsFaulted)
            return;
        Task failed = copied.IsFaulted ? copied : what;
        traced.Kill();
        throw failed.Exception?.GetBaseException() ?? new TimeoutException($"no end of the session within {ms / 1000} s");
    }

    static (long Delivered, long ToldLost) Count(string file)
    {
        long delivered = 0;
        using var source = new EventPipeEventSource(file);
        source.Dynamic.All += e =>
        {
            if ((int)e.ID == PeerSource.EventId && e.ProviderName == PeerSource.ProviderName)
                delivered++;
        };
        source.Process();
        return (delivered, source.EventsLost); // final only after Process
    }

    static void Report(Options options, (Figures Figures, long End) run, string file)
    {
        (long delivered, long toldLost) = Count(file);
        long emitted = options.Events * options.Threads;
        if (!options.Json)
        {
            Console.WriteLine($"eventpipe {options.Variant}, {options.Case}, {options.Threads} threads: "
                + $"{run.Figures.NsPerEvent:F2} ns per event, {delivered} of {emitted} delivered");
            return;
        }
        Console.WriteLine(JsonSerializer.Serialize(new Dictionary<string, object?>
        {
            ["peer"] = "eventpipe",
            ["variant"] = options.Variant,
            ["version"] = Environment.Version.ToString(),
            ["case"] = options.Case,
            ["threads"] = options.Threads,
            ["payload_bytes"] = 4 * sizeof(ulong),
            ["events"] = options.Events,
            ["emitted"] = emitted,
            ["delivered"] = delivered,
            ["lost"] = emitted - delivered,
            ["told_lost"] = toldLost,
            ["ns_per_event"] = run.Figures.NsPerEvent,
            ["cpu_ns_per_event"] = run.Figures.CpuNsPerEvent,
            ["seconds"] = run.Figures.Seconds,
            ["seconds_delivered"] = Stopwatch.GetElapsedTime(run.Figures.Start, run.End).TotalSeconds,
            ["budget_bytes"] = options.Budget,
            ["buffer_bytes"] = (long)options.Megabytes << 20,
            ["bytes_per_event"] = delivered > 0 ? (double)new FileInfo(file).Length / delivered : null,
            ["pinned"] = options.Pin,
            ["note"] = "",
        }));
    }
}
