/* SPDX-License-Identifier: MIT */
/* Bytes of files, plain and gzip, through buffers of any size. */
#include "bytes.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

static char path[] = "/tmp/weir-test-XXXXXX";

static int make_path(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_path(void **state)
{
    (void)state;
    return unlink(path);
}

static void write_file(const char *data, size_t size, const char *mode)
{
    gzFile file = gzopen(path, mode);
    assert_non_null(file);
    if (size > 0)
        assert_int_equal(gzwrite(file, data, (unsigned)size), size);
    assert_int_equal(gzclose(file), Z_OK);
}

static void expect_bytes(const char *data, size_t size, size_t room, const char *error)
{
    char buffer[64];
    size_t at = 0, got;
    struct bytes *b = bytes_open(path);
    assert_non_null(b);
    assert_true(room <= sizeof buffer);
    while ((got = bytes_read(b, buffer, room, 1)) > 0) {
        assert_true(got <= room && got <= size - at);
        assert_memory_equal(buffer, data + at, got);
        at += got;
    }
    assert_int_equal(at, size);
    if (error == NULL)
        assert_null(bytes_error(b));
    else
        assert_string_equal(bytes_error(b), error);
    assert_int_equal(bytes_read(b, buffer, room, 1), 0);
    bytes_close(b);
}

static void any_size_of_buffer(void **state)
{
    (void)state;
    static const char text[] = "what is in the file, whole and in order";
    static const char *const modes[] = {"wbT", "wb9", "wb0"};
    for (size_t mode = 0; mode < 3; mode++) {
        for (size_t room = 1; room <= 64; room += 7) {
            write_file(text, sizeof text, modes[mode]);
            expect_bytes(text, sizeof text, room, NULL);
            write_file("", 0, modes[mode]);
            expect_bytes("", 0, room, NULL);
        }
    }
    write_file("\x1f", 1, "wbT");
    expect_bytes("\x1f", 1, 1, NULL);
}

static void what_comes_before_a_fault_is_given(void **state)
{
    (void)state;
    for (size_t room = 1; room <= 64; room += 9) {
        write_file("before", 6, "wb");
        write_file("behind", 6, "abT");
        expect_bytes("before", 6, room, "data behind the gzip stream");
    }
    write_file("before", 6, "wb");
    write_file("\x1f\x8b\x08", 3, "abT");
    expect_bytes("before", 6, 64, "corrupt gzip data: it ends in the middle");
}

/* The first read waits for so many bytes, members of gzip or not. */
static void the_first_read_is_not_short(void **state)
{
    (void)state;
    char buffer[8];
    write_file("a", 1, "wb");
    write_file("b", 1, "ab");
    write_file("cd", 2, "ab");
    struct bytes *b = bytes_open(path);
    assert_non_null(b);
    assert_int_equal(bytes_read(b, buffer, sizeof buffer, 3), 4);
    assert_memory_equal(buffer, "abcd", 4);
    bytes_close(b);
}

static void what_cannot_be_opened(void **state)
{
    (void)state;
    assert_null(bytes_open("/nonexistent/log"));
    assert_int_equal(errno, ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_size_of_buffer),
        cmocka_unit_test(what_comes_before_a_fault_is_given),
        cmocka_unit_test(the_first_read_is_not_short),
        cmocka_unit_test(what_cannot_be_opened),
    };
    return cmocka_run_group_tests_name("bytes", tests, make_path, remove_path);
}
