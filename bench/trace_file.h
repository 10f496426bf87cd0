/* SPDX-License-Identifier: MIT */
/*
 * Trace files, which all peers of a comparison play: what comes, when, and how much of it an exact
 * token bucket admits.
 *
 *   head     64 bytes: "WEIRTRC1", then records, keys, limit, period, burst, span, admitted
 *   records  24 bytes each: key, n, now
 *
 * All of these are little-endian 64-bit words. Key numbers are below `keys`. Every key has a token
 * bucket of its own, which begins full: `limit` tokens accrue in `period` ns up to `burst`; a
 * record takes its n tokens or none. `now` is ns since the beginning of the pass, 0 at first, and
 * never goes back. A pass p plays all records at now + p * span. Every bucket is full again at the
 * end of a span, so that each pass admits the same records: `admitted` of them.
 */
#ifndef WEIR_BENCH_TRACE_FILE_H
#define WEIR_BENCH_TRACE_FILE_H

#include <sys/stat.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace weir_bench
{

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "structs are read as they are in the file");

const char trace_magic[] = "WEIRTRC1";

struct trace_head {
    char magic[8];
    uint64_t records, keys;
    uint64_t limit, period, burst;
    uint64_t span;
    uint64_t admitted;
};
static_assert(sizeof(trace_head) == 64 && std::is_trivially_copyable<trace_head>::value, "");
static_assert(offsetof(trace_head, records) == 8 && offsetof(trace_head, admitted) == 56, "");

struct trace_record {
    uint64_t key, n, now;
};
static_assert(sizeof(trace_record) == 24 && std::is_trivially_copyable<trace_record>::value, "");

struct trace_file {
    trace_head head;
    std::vector<trace_record> records;
};

/* What is wrong with a file, and where. */
class trace_error : public std::runtime_error
{
  public:
    trace_error(const std::string &path, const std::string &what)
        : std::runtime_error(path + ": " + what)
    {
    }
};

/* How long an empty bucket takes to be full, rounded up. */
inline unsigned __int128 refill_ns(const trace_head &head)
{
    unsigned __int128 units = static_cast<unsigned __int128>(head.burst) * head.period;
    return (units + head.limit - 1) / head.limit;
}

/* Empty, or why no trace can begin like this; `size` is the file's. */
inline std::string complaint_of_head(const trace_head &head, uint64_t size)
{
    if (std::memcmp(head.magic, trace_magic, sizeof head.magic) != 0)
        return std::string("no trace: it does not begin with ") + trace_magic;
    if ((size - sizeof head) / sizeof(trace_record) != head.records ||
        (size - sizeof head) % sizeof(trace_record) != 0)
        return std::to_string(size) + " bytes, which are not a head and " +
               std::to_string(head.records) + " records of " + std::to_string(sizeof(trace_record));
    if (head.records == 0 || head.keys == 0 || head.limit == 0 || head.period == 0)
        return "records, keys, limit and period must not be 0";
    if (head.admitted > head.records)
        return "admits " + std::to_string(head.admitted) + " of " + std::to_string(head.records) +
               " records";
    return "";
}

inline std::string complaint_of_records(const trace_head &head,
                                        const std::vector<trace_record> &records)
{
    uint64_t now = 0;
    for (size_t i = 0; i < records.size(); i++) {
        const trace_record &r = records[i];
        std::string where = "record " + std::to_string(i) + ": ";
        if (r.key >= head.keys)
            return where + "key " + std::to_string(r.key) + " of " + std::to_string(head.keys);
        if (i == 0 && r.now != 0)
            return where + "now is " + std::to_string(r.now) + ", not 0";
        if (r.now < now)
            return where + "now goes back from " + std::to_string(now) + " to " +
                   std::to_string(r.now);
        now = r.now;
    }
    if (now + refill_ns(head) > head.span)
        return "a span of " + std::to_string(head.span) +
               " ns, after which not every bucket is full again";
    return "";
}

using open_file = std::unique_ptr<FILE, int (*)(FILE *)>;

inline trace_file read_trace(const std::string &path)
{
    auto why = [] { return std::string(std::strerror(errno)); };
    open_file file(std::fopen(path.c_str(), "rb"), std::fclose);
    struct stat told;
    if (file == nullptr || fstat(fileno(file.get()), &told) != 0)
        throw trace_error(path, "cannot be opened: " + why());
    if (!S_ISREG(told.st_mode))
        throw trace_error(path, "not a file");
    uint64_t size = static_cast<uint64_t>(told.st_size);
    trace_file trace;
    if (size < sizeof trace.head)
        throw trace_error(path, "no trace: it is shorter than a head");
    auto read = [&](void *to, size_t each, size_t count) {
        if (std::fread(to, each, count, file.get()) != count)
            throw trace_error(path, "cannot be read: " + why());
    };
    read(&trace.head, sizeof trace.head, 1);
    std::string complaint = complaint_of_head(trace.head, size);
    if (complaint.empty()) {
        trace.records.resize(trace.head.records);
        read(trace.records.data(), sizeof(trace_record), trace.records.size());
        complaint = complaint_of_records(trace.head, trace.records);
    }
    if (!complaint.empty())
        throw trace_error(path, complaint);
    return trace;
}

inline void write_trace(const std::string &path, const trace_file &trace)
{
    open_file file(std::fopen(path.c_str(), "wb"), std::fclose);
    bool done = file != nullptr && std::fwrite(&trace.head, sizeof trace.head, 1, file.get()) == 1;
    done = done && std::fwrite(trace.records.data(), sizeof(trace_record), trace.records.size(),
                               file.get()) == trace.records.size();
    /* What is still buffered may not fit either. */
    if (!done || std::fclose(file.release()) != 0)
        throw trace_error(path, "cannot be written: " + std::string(std::strerror(errno)));
}

} // namespace weir_bench

#endif
