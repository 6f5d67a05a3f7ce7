// The command line of all peers; see ../peer_options.c.

sealed record Options(string Case, long Events, int Threads, long Budget, string Variant, string Output, bool Pin, bool Json)
{
    public const string Usage =
        """
        usage: peer-eventpipe [options]
        Emits events of four 64-bit numbers from an EventSource and reports what one costs and how many arrive.

          --case burst|sustained|flood  (default burst) bursts of 10,000 events 20 ms apart;
                           or all events without a pause; flood is for a small budget
          --events N       events per thread (default 310,000)
          --threads N      emitting threads (default 1)
          --budget BYTES   the session's buffers, whole MiB (default 268435456)
          --output FOLDER  where to put the trace (default: a temporary folder, removed)
          --pin            bind the emitting threads to processors; the runtime's are not bound
          --json           print one JSON object
          --variant WORD   one of: nostack (default) stack
        """;

    public const int BurstEvents = 10_000;
    public bool Stacks => Variant == "stack";
    public int Megabytes => (int)(Budget >> 20);
    public int Bursts => Case == "burst" ? (int)((Events + BurstEvents - 1) / BurstEvents) : 0;

    /// Throws ArgumentException with the reason if the options are wrong.
    public static Options Parse(string[] args)
    {
        var options = new Options("burst", 31 * BurstEvents, 1, 256L << 20, "nostack", "", false, false);
        for (int i = 0; i < args.Length; i++)
        {
            string name = args[i];
            if (name is "--pin" or "--json")
            {
                options = name == "--pin" ? options with { Pin = true } : options with { Json = true };
                continue;
            }
            if (i + 1 == args.Length)
                throw new ArgumentException($"'{name}' is not an option, or has no value");
            options = options.With(name, args[++i]);
        }
        return options;
    }

    Options With(string name, string value) => name switch
    {
        "--case" => this with { Case = OneOf(name, value, "burst", "sustained", "flood") },
        "--variant" => this with { Variant = OneOf(name, value, "nostack", "stack") },
        "--events" => this with { Events = Number(name, value, 1, 1_000_000_000) },
        "--threads" => this with { Threads = (int)Number(name, value, 1, 256) },
        "--budget" => this with { Budget = Number(name, value, 1 << 20, 1L << 36) },
        "--output" => this with { Output = value },
        _ => throw new ArgumentException($"'{name}' is not an option"),
    };

    static string OneOf(string name, string value, params string[] known) =>
        known.Contains(value) ? value : throw new ArgumentException($"{name} '{value}' is not one of: {string.Join(' ', known)}");

    static long Number(string name, string value, long least, long most) =>
        long.TryParse(value, out long number) && number >= least && number <= most
            ? number : throw new ArgumentException($"{name} '{value}' is not a number from {least} to {most}");
}
