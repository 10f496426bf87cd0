// SPDX-License-Identifier: MIT
//! What the kernel says of this process: memory and processor time.

/// Bytes of pages in memory.
pub fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("/proc/self/statm");
    let pages = text
        .split(' ')
        .nth(1)
        .and_then(|word| word.parse::<u64>().ok());
    // SAFETY: sysconf has no preconditions.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64;
    pages.expect("a second number in /proc/self/statm") * page
}

/// Gives back what was freed, so that a table which takes it again is not counted too small.
pub fn return_freed_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: malloc_trim may be called at any time.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Seconds of processor time of all threads so far.
pub fn cpu_seconds() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel writes one timespec.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    assert_eq!(failed, 0, "clock_gettime");
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
