#include "reader.h"

struct rule {
    const char *name;
    const char *text;
};

static const struct rule rules[WT_RULE_COUNT] = {
    [WT_RULE_NONE] = {"none", ""},
    [WT_RULE_MAGIC] = {"magic",
                       "the stream starts with Nettrace and !FastSerialization.1 or a version"},
    [WT_RULE_VERSION] = {"version",
                         "Trace is version 4 and blocks are version 2, or the stream is version 6"},
    [WT_RULE_TAG] = {"tag", "object tags are 5 5 1 ... 6 ... 6, and 1 ends the stream"},
    [WT_RULE_TYPE_NAME] = {"type-name",
                           "objects are Trace, EventBlock, MetadataBlock, StackBlock or SPBlock"},
    [WT_RULE_OBJECT_ORDER] = {"object-order", "Trace comes first and once"},
    [WT_RULE_PADDING] = {"padding", "alignment padding of blocks is zero"},
    [WT_RULE_BLOCK_SIZE] = {"block-size", "block sizes are not negative and within the limit"},
    [WT_RULE_HEADER_SIZE] = {"header-size", "block headers have at least 20 bytes and fit"},
    [WT_RULE_EMPTY_BLOCK] = {"empty-block", "an event block holds at least one event"},
    [WT_RULE_VARINT] = {"varint", "variable-length numbers fit their width"},
    [WT_RULE_BLOB_END] = {"blob-end", "blobs end exactly at the end of their block"},
    [WT_RULE_BLOB_PADDING] = {"blob-padding",
                              "padding of uncompressed blobs is 0 to 3 zeros; version 6 has none"},
    [WT_RULE_MIN_MAX] = {"min-max", "the block's time range covers its events"},
    [WT_RULE_METADATA_RECORD] = {"metadata-record", "a definition is whole, its id is above 0"},
    [WT_RULE_METADATA_FIELDS] = {"metadata-fields", "field descriptions and tags decode"},
    [WT_RULE_METADATA_REDEFINED] = {"metadata-redefined", "a metadata id is defined once"},
    [WT_RULE_METADATA_UNDEFINED] = {"metadata-undefined", "metadata is defined before its use"},
    [WT_RULE_STACK_BLOCK] = {"stack-block", "a stack block holds exactly its stacks"},
    [WT_RULE_STACK_SIZE] = {"stack-size", "a stack is whole addresses and at most 65,527 bytes"},
    [WT_RULE_STACK_REDEFINED] = {"stack-redefined",
                                 "a stack id is defined once between two points"},
    [WT_RULE_STACK_UNDEFINED] = {"stack-undefined",
                                 "a stack is defined before its use, after the last point"},
    [WT_RULE_POINT_BLOCK] = {"point-block", "a sequence point holds exactly its threads"},
    [WT_RULE_PAYLOAD_SIZE] = {"payload-size", "a payload has at most 65,535 bytes"},
    [WT_RULE_END_TAG] = {"end-tag", "the stream ends with the end tag"},
    [WT_RULE_TRAILING] = {"trailing", "nothing follows the end tag"},
    [WT_RULE_LIMIT] = {"limit", "the stream stays within the reader's limits"},
    [WT_RULE_ENUM_EVENT] = {"enum-event", "Weir/Enum names values of an integer field"},
    [WT_RULE_NAME_EVENT] = {"name-event", "Weir/ThreadName names a thread that a point or event "
                                          "has introduced"},
    [WT_RULE_TRACE_BLOCK] = {"trace-block", "a Trace block is whole, its known keys have numbers"},
    [WT_RULE_THREAD_BLOCK] = {"thread-block", "rows of threads are whole and decode"},
    [WT_RULE_THREAD_REDEFINED] = {"thread-redefined", "a thread index is introduced once"},
    [WT_RULE_THREAD_UNDEFINED] = {"thread-undefined",
                                  "a thread index is used after its row, before its removal"},
    [WT_RULE_LABEL_BLOCK] = {"label-block",
                             "a label block holds exactly its lists, of known kinds"},
    [WT_RULE_LABEL_REDEFINED] = {"label-redefined",
                                 "a label list is defined once between two points"},
    [WT_RULE_LABEL_UNDEFINED] = {"label-undefined",
                                 "a label list is defined before its use, after the last point"},
    [WT_RULE_TRACE_OBJECT] = {"trace-object", "frequency, pid, pointer size and date are valid"},
    [WT_RULE_TIME_ORDER] = {"time-order", "times of a capture thread do not decrease"},
    [WT_RULE_THREAD_SWITCH] = {"thread-switch",
                               "the capture thread changes at a block start or a sorted event"},
    [WT_RULE_SORTED] = {"sorted", "nothing after a sorted event is older than it"},
    [WT_RULE_POINT_TIME] = {"point-time", "times of sequence points do not decrease"},
    [WT_RULE_POINT_SIDE] = {"point-side",
                            "events before a point are not younger, those after not older"},
    [WT_RULE_SEQUENCE_BACK] = {"sequence-back", "numbers of a capture thread go up"},
    [WT_RULE_PAYLOAD_FIELDS] = {"payload-fields", "a payload decodes exactly to its fields"},
    [WT_RULE_LOSS_EVENT] = {"loss-event", "Weir/Loss has its four fields and a known cause"},
    [WT_RULE_LOSS_PLACE] = {"loss-place", "a reported loss lies in a gap of its thread"},
    [WT_RULE_LOSS_COUNT] = {"loss-count", "reported losses add up to the gap"},
    [WT_RULE_INTRODUCTION] =
        {"introduction", "a point with number 1, or a row, introduces each thread (Weir only)"},
    [WT_RULE_PAIR_ORDER] = {"pair-order", "with --pairs: the second event is not older"},
};

const char *wt_rule_name(enum wt_rule rule)
{
    return rule > 0 && rule < WT_RULE_COUNT ? rules[rule].name : rules[0].name;
}

const char *wt_rule_text(enum wt_rule rule)
{
    return rule > 0 && rule < WT_RULE_COUNT ? rules[rule].text : rules[0].text;
}
