// The traced process: an EventSource, and threads that emit and measure the time it took.

using System.Diagnostics;
using System.Diagnostics.Tracing;
using System.Runtime.InteropServices;
using System.Text.Json;

/// The cheapest emit call of EventSource: WriteEventCore with the data on the stack.
[EventSource(Name = ProviderName)]
sealed class PeerSource : EventSource
{
    public const string ProviderName = "WeirPeer";
    public const int EventId = 1;
    public static readonly PeerSource Log = new();

    [Event(EventId, Level = EventLevel.Informational)]
    public unsafe void Event(ulong a, ulong b, ulong c, ulong d)
    {
        ulong* words = stackalloc ulong[4] { a, b, c, d };
        EventData* data = stackalloc EventData[4];
        for (int i = 0; i < 4; i++)
            data[i] = new EventData { DataPointer = (IntPtr)(words + i), Size = sizeof(ulong) };
        WriteEventCore(EventId, 4, data);
    }
}

/// The traced process's report to the tracing one: one line of JSON.
sealed record Figures(double NsPerEvent, double CpuNsPerEvent, long Start, long End)
{
    public double Seconds => Stopwatch.GetElapsedTime(Start, End).TotalSeconds;
}

static partial class Emitter
{
    const int WarmRounds = 8, WarmEvents = 20_000, WarmPauseMs = 150, BurstPauseMs = 20, ThreadCpuClock = 3;

    [StructLayout(LayoutKind.Sequential)]
    struct TimeSpec
    {
        public long Seconds, Nanoseconds;
    }

    [DllImport("libc")]
    static extern int clock_gettime(int clock, out TimeSpec time);

    [DllImport("libc")]
    static extern int sched_getaffinity(int thread, nint bytes, byte[] set);

    [DllImport("libc")]
    static extern int sched_setaffinity(int thread, nint bytes, byte[] set);

    static readonly byte[] allowed = new byte[128];

    /// One step per word from standard input. End of input ends the process, so that none is left
    /// behind.
    public static int Run(Options options)
    {
        if (sched_getaffinity(0, allowed.Length, allowed) < 0)
            return Program.Fail("cannot get the allowed processors");
        Console.WriteLine("ready");
        while (Console.ReadLine() is { } word)
        {
            WaitUntil(() => PeerSource.Log.IsEnabled());
            if (word == "warm")
                Warm();
            Console.WriteLine(word == "warm" ? "warmed" : JsonSerializer.Serialize(Measure(options)));
            WaitUntil(() => !PeerSource.Log.IsEnabled());
            Console.WriteLine("off");
        }
        return 0;
    }

    static void WaitUntil(Func<bool> condition)
    {
        for (int ms = 0; !condition(); ms++)
        {
            if (ms == 30_000)
                throw new TimeoutException("the traced process does not see the session");
            Thread.Sleep(1);
        }
    }

    /// The runtime recompiles hot code in the background, in two steps, after a tenth of a second
    /// each.
    static void Warm()
    {
        for (int round = 0; round < WarmRounds; round++)
        {
            Emit(0, 0, WarmEvents);
            Thread.Sleep(WarmPauseMs);
        }
    }

    static void Emit(int thread, long first, long count)
    {
        PeerSource log = PeerSource.Log;
        ulong tid = (ulong)thread, end = (ulong)(first + count);
        for (ulong i = (ulong)first; i < end; i++)
            if (log.IsEnabled())
                log.Event(i, tid, i * 3, i ^ 0x5555);
    }

    static double ThreadCpuNs()
    {
        clock_gettime(ThreadCpuClock, out TimeSpec time);
        return time.Seconds * 1e9 + time.Nanoseconds;
    }

    static void Bind(int index)
    {
        int[] processors = Enumerable.Range(0, allowed.Length * 8).Where(i => (allowed[i / 8] >> (i % 8) & 1) != 0).ToArray();
        int processor = processors[index % processors.Length];
        var set = new byte[allowed.Length];
        set[processor / 8] = (byte)(1 << (processor % 8));
        if (sched_setaffinity(0, set.Length, set) != 0)
            throw new InvalidOperationException("cannot bind a thread to a processor");
    }

    static Figures Measure(Options options)
    {
        var workers = Enumerable.Range(0, options.Threads).Select(i => new Worker(i, options)).ToArray();
        using var barrier = new Barrier(options.Threads);
        var threads = workers.Select(worker => new Thread(() => worker.Run(barrier))).ToArray();
        foreach (Thread thread in threads)
            thread.Start();
        foreach (Thread thread in threads)
            thread.Join();
        double events = (double)options.Events * options.Threads;
        double[] bursts = workers.SelectMany(worker => worker.BurstsNs).Order().ToArray();
        double wallNs = workers.Sum(worker => Stopwatch.GetElapsedTime(worker.Start, worker.End).TotalNanoseconds);
        return new Figures(
            bursts.Length > 0 ? (bursts[(bursts.Length - 1) / 2] + bursts[bursts.Length / 2]) / 2 : wallNs / events,
            workers.Sum(worker => worker.CpuNs) / events,
            workers.Min(worker => worker.Start), workers.Max(worker => worker.End));
    }

    sealed class Worker(int index, Options options)
    {
        public readonly double[] BurstsNs = new double[options.Bursts];
        public long Start, End;
        public double CpuNs;

        public void Run(Barrier barrier)
        {
            if (options.Pin)
                Bind(index);
            barrier.SignalAndWait();
            double cpuNs = ThreadCpuNs();
            Start = Stopwatch.GetTimestamp();
            for (int i = 0; i < BurstsNs.Length; i++)
                BurstsNs[i] = Burst(barrier, i);
            if (BurstsNs.Length == 0)
                Emit(index, 0, options.Events);
            End = Stopwatch.GetTimestamp();
            CpuNs = ThreadCpuNs() - cpuNs;
        }

        double Burst(Barrier barrier, int number)
        {
            long first = (long)number * Options.BurstEvents, count = Math.Min(Options.BurstEvents, options.Events - first);
            if (number > 0)
                Thread.Sleep(BurstPauseMs);
            barrier.SignalAndWait();
            long start = Stopwatch.GetTimestamp();
            Emit(index, first, count);
            return Stopwatch.GetElapsedTime(start).TotalNanoseconds / count;
        }
    }
}
