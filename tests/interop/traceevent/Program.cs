// traceevent-summary [--payloads N] [--details] FILE...
//
// Reads nettrace files with the TraceEvent library and prints what it found: one JSON object per
// line and file. With --details, also what is in the payloads and stacks of each id. A file that TraceEvent refuses gives {"file": ..., "error": ...} and exit
// status 1. This program must not interpret the format itself; it only prints what the library
// reports.

using System.Collections;
using System.Globalization;
using System.Text;
using Microsoft.Diagnostics.Tracing;
using Microsoft.Diagnostics.Tracing.EventPipe;
using Microsoft.Diagnostics.Tracing.Etlx;
using Microsoft.Diagnostics.Tracing.Parsers;
using Microsoft.Diagnostics.Tracing.Parsers.Clr;

int payloads = 0;
bool usable = true, details = false;
var files = new List<string>();
for (int i = 0; i < args.Length; i++)
{
    if (args[i] == "--payloads" && i + 1 < args.Length && int.TryParse(args[++i], out payloads) && payloads >= 0)
        continue;
    if (args[i] == "--details")
    {
        details = true;
        continue;
    }
    usable &= !args[i].StartsWith("--");
    files.Add(args[i]);
}
if (!usable || files.Count == 0)
{
    Console.Error.WriteLine("usage: traceevent-summary [--payloads N] [--details] FILE...");
    return 2;
}

int status = 0;
foreach (string file in files)
{
    object result;
    try
    {
        result = new Summary(payloads).Read(file);
        if (details)
            ((Dictionary<string, object?>)result)["details"] = new Details().Read(file);
    }
    catch (Exception e)
    {
        result = new Dictionary<string, object?> { ["file"] = Path.GetFileName(file), ["error"] = e.GetType().Name + ": " + e.Message };
        status = 1;
    }
    Console.WriteLine(Json.Text(result));
}
return status;

sealed class Summary(int payloadsPerEvent)
{
    readonly SortedDictionary<(string Provider, int Id, string Name), long> events = new();
    readonly SortedDictionary<(string Provider, int Id, int Thread), long> threads = new();
    readonly Dictionary<(string Provider, int Id), int> shown = new();
    readonly List<object> payloads = new();
    long total, parsed, unhandled;
    double first = double.NaN, last = double.NaN;
    object? violation;

    public Dictionary<string, object?> Read(string file)
    {
        using var source = new EventPipeEventSource(file);

        // Events of the .NET runtime's own providers have no names or fields in the file; these
        // parsers know them, and Dynamic handles all others. Only AllEvents counts: each event
        // passes it exactly once, and the sum of the other two must equal it.
        source.Clr.All += _ => parsed++;
        new ClrRundownTraceEventParser(source).All += _ => parsed++;
        new SampleProfilerTraceEventParser(source).All += _ => parsed++;
        source.Dynamic.All += _ => parsed++;
        source.UnhandledEvents += _ => unhandled++;
        source.AllEvents += OnEvent;
        var heap = new Heap(source.Clr);
        source.Process();

        return new()
        {
            ["file"] = Path.GetFileName(file),
            ["events"] = total,
            ["parsed"] = parsed,
            ["unhandled"] = unhandled,
            ["events_lost"] = source.EventsLost, // final only after Process
            ["rising"] = violation == null,
            ["first_violation"] = violation,
            ["first_ms"] = first,
            ["last_ms"] = last,
            ["session_start_utc"] = source.SessionStartTime.ToUniversalTime().ToString("o"),
            ["session_ms"] = source.SessionDuration.TotalMilliseconds,
            ["pointer_size"] = source.PointerSize,
            ["processors"] = source.NumberOfProcessors,
            ["counts"] = events.Select(e => new Dictionary<string, object?> {
                ["provider"] = e.Key.Provider, ["event_id"] = e.Key.Id, ["event_name"] = e.Key.Name, ["count"] = e.Value }),
            ["threads"] = threads.Select(e => new Dictionary<string, object?> {
                ["provider"] = e.Key.Provider, ["event_id"] = e.Key.Id, ["thread"] = e.Key.Thread, ["count"] = e.Value }),
            ["payloads"] = payloadsPerEvent > 0 ? payloads : null,
            ["heap"] = heap.Result(),
        };
    }

    void OnEvent(TraceEvent data)
    {
        string provider = data.ProviderName;
        int id = (int)data.ID;
        double now = data.TimeStampRelativeMSec;

        events[(provider, id, data.EventName)] = events.GetValueOrDefault((provider, id, data.EventName)) + 1;
        threads[(provider, id, data.ThreadID)] = threads.GetValueOrDefault((provider, id, data.ThreadID)) + 1;
        if (total++ == 0)
            first = now;
        else if (now < last)
            violation ??= new Dictionary<string, object?> {
                ["index"] = total - 1, ["provider"] = provider, ["event_id"] = id, ["ms"] = now, ["previous_ms"] = last };
        last = now;

        int seen = shown.GetValueOrDefault((provider, id));
        if (seen >= payloadsPerEvent)
            return;
        shown[(provider, id)] = seen + 1;
        payloads.Add(new Dictionary<string, object?>
        {
            ["provider"] = provider,
            ["event_id"] = id,
            ["event_name"] = data.EventName,
            ["version"] = data.Version,
            ["level"] = (int)data.Level,
            ["keywords"] = (ulong)data.Keywords,
            ["opcode"] = (int)data.Opcode,
            ["process"] = data.ProcessID,
            ["thread"] = data.ThreadID,
            ["ms"] = now,
            ["activity"] = data.ActivityID,
            ["related_activity"] = data.RelatedActivityID,
            // ToList: the values must be read now, because TraceEvent reuses the event object for
            // the next event.
            ["fields"] = data.PayloadNames.Select((name, i) => Field(name, data.PayloadValue(i))).ToList(),
        });
    }

    static Dictionary<string, object?> Field(string name, object? value) =>
        new() { ["name"] = name, ["type"] = value?.GetType().Name, ["value"] = value };
}

/// Of each id, sums that hold whatever the order of events is: of their payloads, and of their stacks. And all payloads
/// whose fields are described in the file.
sealed class Details
{
    sealed class Row
    {
        public long Count, PayloadBytes, PayloadSum, Logged, Stacks, Frames, StackSum;
    }

    static readonly uint[] crcTable = Enumerable.Range(0, 256)
        .Select(i => Enumerable.Range(0, 8).Aggregate((uint)i, (c, _) => (c & 1) != 0 ? c >> 1 ^ 0xEDB88320 : c >> 1)).ToArray();
    readonly SortedDictionary<(string Provider, int Id), Row> rows = new();
    readonly List<object> described = new();

    static long Crc(ReadOnlySpan<byte> bytes)
    {
        uint crc = ~0u;
        foreach (byte b in bytes)
            crc = crcTable[(byte)crc ^ b] ^ crc >> 8;
        return ~crc;
    }

    Row Of(TraceEvent data)
    {
        var key = (data.ProviderName, (int)data.ID);
        if (!rows.TryGetValue(key, out Row? row))
            rows[key] = row = new Row();
        return row;
    }

    public object Read(string file)
    {
        using (var source = new EventPipeEventSource(file))
        {
            source.AllEvents += OnEvent;
            source.Dynamic.All += OnDescribed;
            source.Process();
        }
        ReadStacks(file);
        return new Dictionary<string, object?> {
            ["rows"] = rows.Select(r => new Dictionary<string, object?> {
                ["provider"] = r.Key.Provider, ["event_id"] = r.Key.Id, ["count"] = r.Value.Count,
                ["payload_bytes"] = r.Value.PayloadBytes, ["payload_sum"] = r.Value.PayloadSum, ["logged"] = r.Value.Logged,
                ["stacks"] = r.Value.Stacks, ["frames"] = r.Value.Frames, ["stack_sum"] = r.Value.StackSum }),
            ["described"] = described };
    }

    void OnEvent(TraceEvent data)
    {
        Row row = Of(data);
        byte[] payload = data.EventData();
        row.Count++;
        row.PayloadBytes += payload.Length;
        row.PayloadSum += Crc(payload);
    }

    void OnDescribed(TraceEvent data)
    {
        if (data.PayloadNames.Length == 0)
            return;
        described.Add(new Dictionary<string, object?> {
            ["provider"] = data.ProviderName, ["event_id"] = (int)data.ID, ["event_name"] = data.EventName, ["thread"] = data.ThreadID,
            ["fields"] = data.PayloadNames.Select((name, i) => new KeyValuePair<string, object?>(name, data.PayloadValue(i))).ToList() });
    }

    /// Only the library's own form of a trace has the stacks. Some events are left out of it.
    void ReadStacks(string file)
    {
        string folder = Directory.CreateTempSubdirectory("weir-interop-").FullName;
        try
        {
            string converted = TraceLog.CreateFromEventPipeDataFile(file, Path.Combine(folder, "trace.etlx"));
            using var log = new TraceLog(converted);
            foreach (TraceEvent data in log.Events)
                OnLogged(data);
        }
        finally
        {
            Directory.Delete(folder, true);
        }
    }

    void OnLogged(TraceEvent data)
    {
        Row row = Of(data);
        row.Logged++;
        var addresses = new List<byte>();
        for (TraceCallStack? frame = data.CallStack(); frame != null; frame = frame.Caller)
            addresses.AddRange(BitConverter.GetBytes(frame.CodeAddress.Address));
        if (addresses.Count == 0)
            return;
        row.Stacks++;
        row.Frames += addresses.Count / 8;
        row.StackSum += Crc(addresses.ToArray());
    }
}

/// The heap that the events describe, rebuilt as dotnet-gcdump does: of the first blocking collection that was
/// induced, up to its end. Nodes take their edges in order from one list.
sealed class Heap
{
    readonly Dictionary<ulong, string> types = new();
    readonly List<(ulong Address, long Size, ulong Type, int Edges)> nodes = new();
    readonly List<ulong> edges = new();
    readonly List<string> statics = new();
    int started = -1, roots, weak;
    bool ended;
    string? problem;

    public Heap(ClrTraceEventParser clr)
    {
        clr.GCStart += e => { if (started < 0 && e.Depth >= 2 && e.Type == GCType.NonConcurrentGC && e.Reason == GCReason.Induced) started = e.Count; };
        clr.GCStop += e => ended |= e.Count == started;
        clr.TypeBulkType += e => { for (int i = 0; i < e.Count; i++) types[e.Values(i).TypeID] = e.Values(i).TypeName; };
        clr.GCBulkNode += e => Take(e.Index, nodeEvents++, e.Count, i => { var n = e.Values(i); nodes.Add((n.Address, (long)n.Size, n.TypeID, (int)n.EdgeCount)); });
        clr.GCBulkEdge += e => Take(e.Index, edgeEvents++, e.Count, i => edges.Add(e.Values(i).Target));
        clr.GCBulkRootEdge += e => Take(e.Index, rootEvents++, e.Count, i => roots++);
        clr.GCBulkRootConditionalWeakTableElementEdge += e => Take(e.Index, weakEvents++, e.Count, i => weak++);
        clr.GCBulkRootStaticVar += e => Take(0, 0, e.Count, i => statics.Add(e.Values(i).FieldName));
    }

    int nodeEvents, edgeEvents, rootEvents, weakEvents;

    void Take(int index, int expected, int count, Action<int> take)
    {
        if (started < 0 || ended)
            problem ??= "elements outside of the collection";
        if (index != expected)
            problem ??= $"event {index} where {expected} is due";
        for (int i = 0; i < count; i++)
            take(i);
    }

    public object? Result()
    {
        if (started < 0)
            return null;
        int at = 0;
        var addresses = new HashSet<ulong>(nodes.Select(n => n.Address));
        var byType = new SortedDictionary<string, (long Count, long Bytes)>(StringComparer.Ordinal);
        if (!ended)
            problem ??= "no end";
        if (addresses.Count != nodes.Count)
            problem ??= "an object twice";
        foreach (var node in nodes)
        {
            if (!types.TryGetValue(node.Type, out string? name))
                problem ??= $"no type {node.Type:x}";
            for (int i = 0; i < node.Edges && problem == null; i++, at++)
                if (at >= edges.Count || !addresses.Contains(edges[at]))
                    problem ??= "an edge that leads nowhere";
            var old = byType.GetValueOrDefault(name ?? "");
            byType[name ?? ""] = (old.Count + 1, old.Bytes + node.Size);
        }
        if (at != edges.Count)
            problem ??= $"{edges.Count - at} edges that no node has";
        return new Dictionary<string, object?> {
            ["problem"] = problem, ["nodes"] = nodes.Count, ["edges"] = edges.Count, ["roots"] = roots, ["weak"] = weak, ["statics"] = statics,
            ["types"] = byType.Select(t => new Dictionary<string, object?> { ["name"] = t.Key, ["count"] = t.Value.Count, ["bytes"] = t.Value.Bytes }) };
    }
}

/// JSON by hand: the framework's writers refuse NaN and silently replace lone surrogates, and a
/// trace may hold both.
static class Json
{
    public static string Text(object? value)
    {
        var b = new StringBuilder();
        Write(b, value);
        return b.ToString();
    }

    static void Write(StringBuilder b, object? value)
    {
        switch (value)
        {
            case null: b.Append("null"); break;
            case bool v: b.Append(v ? "true" : "false"); break;
            case string v: Quote(b, v); break;
            case char v: Quote(b, v.ToString()); break;
            case Guid v: Quote(b, v.ToString("D")); break;
            // To the runtime an sbyte[] is a byte[]; only the exact type differs.
            case byte[] v when v.GetType() == typeof(byte[]): Quote(b, Convert.ToHexString(v).ToLowerInvariant()); break;
            case DateTime v: b.Append(v.ToFileTimeUtc()); break; // as stored in the file
            case Enum v: Write(b, Convert.ChangeType(v, Enum.GetUnderlyingType(v.GetType()))); break;
            // A float is widened first, so that its text reads back as the same value in either
            // width.
            case float v: Write(b, (double)v); break;
            case double v when !double.IsFinite(v): Quote(b, v.ToString(CultureInfo.InvariantCulture)); break;
            case double v:
                string text = v.ToString("R", CultureInfo.InvariantCulture);
                b.Append(text).Append(text.AsSpan().ContainsAny('.', 'E') ? "" : ".0"); break; // -0 as an integer loses its sign
            case sbyte or byte or short or ushort or int or uint or long or ulong or nint or nuint:
                b.Append(((IFormattable)value).ToString(null, CultureInfo.InvariantCulture)); break;
            case IEnumerable<KeyValuePair<string, object?>> v:
                List(b, '{', '}', v, pair => { Quote(b, pair.Key); b.Append(": "); Write(b, pair.Value); }); break;
            case IEnumerable v: List(b, '[', ']', v.Cast<object?>(), item => Write(b, item)); break;
            default: throw new NotSupportedException("no JSON for a " + value.GetType().FullName);
        }
    }

    static void List<T>(StringBuilder b, char open, char close, IEnumerable<T> items, Action<T> write)
    {
        string separator = "";
        b.Append(open);
        foreach (T item in items)
        {
            b.Append(separator);
            write(item);
            separator = ", ";
        }
        b.Append(close);
    }

    static void Quote(StringBuilder b, string text)
    {
        b.Append('"');
        foreach (char c in text)
            if (c is < ' ' or > '~' or '"' or '\\')
                b.Append("\\u").Append(((int)c).ToString("x4"));
            else
                b.Append(c);
        b.Append('"');
    }
}
