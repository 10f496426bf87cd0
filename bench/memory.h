/* SPDX-License-Identifier: MIT */
/*
 * What the kernel says of memory: this process's now and at most, and the machine's.
 */
#ifndef WEIR_BENCH_MEMORY_H
#define WEIR_BENCH_MEMORY_H

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace weir_bench
{

/* A file of /proc, read without memory of its own: that would be counted. */
class proc_file
{
  public:
    explicit proc_file(const char *path)
    {
        int file = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t got = file < 0 ? -1 : read(file, text, sizeof text - 1);
        text[got < 0 ? 0 : got] = '\0';
        if (file >= 0)
            close(file);
    }

    /* "NAME: 123 kB" in bytes, 0 where there is none. */
    uint64_t kilobytes(const char *name) const
    {
        const char *found = std::strstr(text, name);
        return found == nullptr ? 0 : std::strtoull(found + std::strlen(name), nullptr, 10) << 10;
    }

    char text[8192];
};

/* Pages in memory, of whatever size, in bytes. */
inline uint64_t resident_bytes()
{
    proc_file statm("/proc/self/statm");
    const char *second = std::strchr(statm.text, ' ');
    uint64_t pages = second == nullptr ? 0 : std::strtoull(second, nullptr, 10);
    return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

/* The most that was resident since the program began, or since the mark was set back. */
inline uint64_t high_water_bytes()
{
    return proc_file("/proc/self/status").kilobytes("VmHWM:");
}

/* False where the kernel does not let us (proc(5), clear_refs). */
inline bool reset_high_water()
{
    int file = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    bool done = file >= 0 && write(file, "5", 1) == 1;
    if (file >= 0)
        close(file);
    return done;
}

/* What the machine could give without swapping. */
inline uint64_t available_bytes()
{
    return proc_file("/proc/meminfo").kilobytes("MemAvailable:");
}

} // namespace weir_bench

#endif
