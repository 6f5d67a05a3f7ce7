// A process to be traced: collects garbage 20 times a second. Arguments: seconds, exit code.
for (int i = 0; i < int.Parse(args[0]) * 20; i++)
{
    System.GC.Collect(0);
    System.Threading.Thread.Sleep(50);
}
return int.Parse(args[1]);
