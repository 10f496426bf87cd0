/* SPDX-License-Identifier: MIT */
/* Lines out of files: ends, lengths around the block and the line bound, gzip, CSV quotes. */
#include "input.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#define BLOCK ((size_t)256 << 10) /* of the reader */

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

static struct input *input_of(const char *data, size_t size, const char *mode)
{
    gzFile file = gzopen(path, mode);
    assert_non_null(file);
    if (size > 0)
        assert_int_equal(gzwrite(file, data, (unsigned)size), size);
    assert_int_equal(gzclose(file), Z_OK);
    struct input *in = input_open(path);
    assert_non_null(in);
    return in;
}

static void append(const char *data, size_t size, const char *mode)
{
    gzFile file = gzopen(path, mode);
    assert_non_null(file);
    assert_int_equal(gzwrite(file, data, (unsigned)size), size);
    assert_int_equal(gzclose(file), Z_OK);
}

static void expect_line(struct input *in, bool quotes, const char *data, size_t size,
                        uint64_t number)
{
    struct input_line line;
    assert_int_equal(input_next(in, quotes, &line), INPUT_LINE);
    assert_int_equal(line.size, size);
    assert_memory_equal(line.data, data, size);
    assert_int_equal(line.number, number);
    assert_false(line.cut);
}

static void expect_end(struct input *in)
{
    struct input_line line;
    assert_int_equal(input_next(in, false, &line), INPUT_END);
    assert_int_equal(input_next(in, false, &line), INPUT_END);
    input_close(in);
}

static void line_ends(void **state)
{
    (void)state;
    static const char text[] = "\xef\xbb\xbf"
                               "one\r\n\ntwo\r\r\n\0\0three\0x\n\xef\xbb\xbf"
                               "four";
    static const char *const modes[] = {"wbT", "wb9"};
    for (size_t i = 0; i < 2; i++) {
        struct input *in = input_of(text, sizeof text - 1, modes[i]);
        expect_line(in, false, "one", 3, 1);
        expect_line(in, false, "", 0, 2);
        expect_line(in, false, "two\r", 4, 3);
        expect_line(in, false, "three\0x", 7, 4);
        expect_line(in, false,
                    "\xef\xbb\xbf"
                    "four",
                    7, 5);
        expect_end(in);
    }
    expect_end(input_of("", 0, "wbT"));
    expect_end(input_of("", 0, "wb"));
    struct input *in = input_of("\n", 1, "wbT");
    expect_line(in, false, "", 0, 1);
    expect_end(in);
}

/* Two lines whose border lies at each place around the end of a block. */
static void lines_across_blocks(void **state)
{
    (void)state;
    char *text = malloc(3 * BLOCK);
    assert_non_null(text);
    for (size_t i = 0; i < 3 * BLOCK; i++)
        text[i] = (char)('a' + i % 23);
    for (size_t at = BLOCK - 3; at <= BLOCK + 3; at++) {
        text[at] = '\n';
        struct input *in = input_of(text, 3 * BLOCK, "wbT");
        expect_line(in, false, text, at, 1);
        expect_line(in, false, text + at + 1, 3 * BLOCK - at - 1, 2);
        expect_end(in);
        text[at] = 'x';
    }
    /* NUL bytes to the end of the first block are no part of the line behind them */
    memset(text, '\0', BLOCK + 5);
    struct input *in = input_of(text, BLOCK + 8, "wb");
    expect_line(in, false, text + BLOCK + 5, 3, 1);
    expect_end(in);
    free(text);
}

static void long_lines_are_cut(void **state)
{
    (void)state;
    size_t size = INPUT_LINE_MAX * 3;
    char *text = malloc(size);
    assert_non_null(text);
    for (size_t extra = 0; extra <= 1; extra++) {
        memset(text, 'l', size);
        size_t first = INPUT_LINE_MAX + extra;
        text[first] = '\n';
        text[first + 1] = '\n';
        struct input *in = input_of(text, size, "wb1");
        struct input_line line;
        assert_int_equal(input_next(in, false, &line), INPUT_LINE);
        assert_int_equal(line.size, INPUT_LINE_MAX);
        assert_int_equal(line.cut, extra);
        expect_line(in, false, "", 0, 2);
        assert_int_equal(input_next(in, false, &line), INPUT_LINE);
        assert_int_equal(line.size, INPUT_LINE_MAX);
        assert_true(line.cut);
        assert_int_equal(line.number, 3);
        expect_end(in);
    }
    free(text);
}

static void quotes_join_lines(void **state)
{
    (void)state;
    static const char text[] = "a,\"b\nc\r\nd\",e\r\n"
                               "f\"g,h\n"
                               "\"i\"\"\nj\"\n"
                               "\"k\"\n"
                               "\"l\nm";
    struct input *in = input_of(text, sizeof text - 1, "wbT");
    expect_line(in, true, "a,\"b\nc\r\nd\",e", 12, 1);
    expect_line(in, true, "f\"g,h", 5, 4);
    expect_line(in, true, "\"i\"\"\nj\"", 7, 5);
    expect_line(in, true, "\"k\"", 3, 7);
    expect_line(in, true, "\"l", 2, 8);
    expect_line(in, true, "m", 1, 9);
    expect_end(in);
    in = input_of(text, sizeof text - 1, "wbT");
    expect_line(in, false, "a,\"b", 4, 1);
    expect_line(in, false, "c", 1, 2);
    input_close(in);
}

/* Each line of `width` bytes is one of its own, with its number. */
static void expect_each(const char *text, size_t size, size_t width)
{
    struct input *in = input_of(text, size, "wb1");
    struct input_line line;
    for (size_t i = 0; i < size / width; i++) {
        assert_int_equal(input_next(in, true, &line), INPUT_LINE);
        assert_int_equal(line.size, width - 1);
        assert_memory_equal(line.data, text + i * width, width - 1);
        assert_int_equal(line.number, i + 1);
        assert_true(line.ended);
    }
    expect_end(in);
}

/* A quote that is never closed costs no line behind its own, however near the end it is. */
static void an_open_quote_joins_nothing(void **state)
{
    (void)state;
    size_t size = INPUT_LINE_MAX * 3;
    char *text = malloc(size);
    assert_non_null(text);
    for (size_t i = 0; i < size; i++)
        text[i] = i % 64 == 63 ? '\n' : 'q';
    for (size_t at = 0; at < size; at = at < 128 ? at + 64 : at + INPUT_LINE_MAX / 2) {
        text[at] = '"';
        expect_each(text, size, 64);
        text[at] = 'q';
    }
    /* nor one that is closed too late, or with text behind it: that quote was to open a field */
    text[0] = text[INPUT_LINE_MAX + 64] = '"';
    text[INPUT_LINE_MAX + 65] = ',';
    expect_each(text, size, 64);
    text[640] = '"';
    text[INPUT_LINE_MAX + 65] = 'q';
    expect_each(text, size, 64);
    free(text);
}

/* Lines that each leave a quote open: following each to the bound, or to where text follows a
   closing quote, would take minutes. */
static void many_open_quotes(void **state)
{
    (void)state;
    static const char open[] = "x\",\",\n", bad[] = "x\"y,,\n";
    const size_t width = sizeof open - 1, size = INPUT_LINE_MAX * 4 / width * width;
    char *text = malloc(size);
    assert_non_null(text);
    for (size_t i = 0; i < size; i++)
        text[i] = open[i % width];
    expect_each(text, size, width);
    for (size_t i = size / width / 3; i < size / width; i += size / width / 3)
        memcpy(text + i * width, bad, width);
    expect_each(text, size, width);
    free(text);
}

/* Records of two lines among lines that open a quote for good: what was found about one quote is
   not taken for another. */
static void open_quotes_and_records(void **state)
{
    (void)state;
    const size_t width = 64, count = 4 * INPUT_LINE_MAX / width, every = 1000;
    char *text = malloc(count * width);
    assert_non_null(text);
    for (size_t i = 0; i < count * width; i++)
        text[i] = i % width == width - 1 ? '\n' : 'q';
    for (size_t i = 0; i < count; i += every) {
        text[i * width] = '"';
        if (i / every % 3 > 0)
            memcpy(text + (i + 1) * width, "q\",", 3);
    }
    struct input *in = input_of(text, count * width, "wb1");
    for (size_t i = 0; i < count;) {
        size_t lines = i % every == 0 && i / every % 3 > 0 ? 2 : 1;
        expect_line(in, true, text + i * width, lines * width - 1, i + 1);
        i += lines;
    }
    expect_end(in);
    free(text);
}

/* The record that is just within the bound is one, behind a line that opens a quote for good too:
   the bound is counted from the start of each. */
static void the_bound_of_a_record(void **state)
{
    (void)state;
    char *text = malloc(3 * INPUT_LINE_MAX);
    assert_non_null(text);
    for (size_t extra = 0; extra <= 1; extra++) {
        for (size_t before = 0; before <= 6; before += 6) {
            size_t size = INPUT_LINE_MAX + extra;
            memset(text, 'r', 3 * INPUT_LINE_MAX);
            memcpy(text, "x\",\",\n", 6);
            char *record = text + before;
            memcpy(record, "y\",\",\n", 6);
            memcpy(record + size - 3, ",\"\"\nend\n", 8);
            record[size - 2] = '"';
            record[size - 1] = ',';
            record[size] = '\n';
            struct input *in = input_of(text, before + size + 5, "wb1");
            if (before > 0)
                expect_line(in, true, text, 5, 1);
            uint64_t number = before > 0 ? 2 : 1;
            if (extra == 0) {
                expect_line(in, true, record, size, number);
            } else {
                expect_line(in, true, record, 5, number);
                expect_line(in, true, record + 6, size - 6, number + 1);
            }
            expect_line(in, true, "end\n", 3, number + 2);
            expect_end(in);
        }
    }
    free(text);
}

/* Lines that a quote held back come before the error. */
static void an_open_quote_before_an_error(void **state)
{
    (void)state;
    struct input_line line;
    input_close(input_of("\"a\nb\nc\"", 7, "wb"));
    append("x", 1, "abT");
    struct input *in = input_open(path);
    expect_line(in, true, "\"a", 2, 1);
    expect_line(in, true, "b", 1, 2);
    assert_int_equal(input_next(in, true, &line), INPUT_ERROR);
    assert_int_equal(input_next(in, true, &line), INPUT_ERROR);
    input_close(in);
}

static void broken_gzip(void **state)
{
    (void)state;
    char text[5000];
    unsigned random = 1;
    for (size_t i = 0; i < sizeof text; i++) {
        random = random * 1103515245 + 12345;
        text[i] = (char)('0' + (random >> 16) % 64);
    }
    input_close(input_of(text, sizeof text, "wb"));
    struct input_line line;
    FILE *file = fopen(path, "r+b");
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    long size = ftell(file);
    assert_int_equal(ftruncate(fileno(file), size - 20), 0);
    struct input *in = input_open(path);
    assert_int_equal(input_next(in, false, &line), INPUT_ERROR);
    assert_string_equal(input_error(in), "corrupt gzip data: it ends in the middle");
    input_close(in);

    input_close(input_of(text, sizeof text, "wb"));
    assert_int_equal(fseek(file, -6, SEEK_END), 0);
    assert_int_equal(fputc(0x5a, file), 0x5a);
    fclose(file);
    in = input_open(path);
    assert_int_equal(input_next(in, false, &line), INPUT_ERROR);
    assert_string_equal(input_error(in), "corrupt gzip data: incorrect data check");
    assert_int_equal(input_next(in, false, &line), INPUT_ERROR);
    input_close(in);
}

static void gzip_members_are_one_text(void **state)
{
    (void)state;
    input_close(input_of("\xef", 1, "wb"));
    append("\xbb\xbfo", 3, "ab");
    append("", 0, "ab");
    append("ne\ntwo", 6, "ab");
    append("\0\0\0\0\0", 5, "abT"); /* what tapes are padded with */
    struct input *in = input_open(path);
    expect_line(in, false, "one", 3, 1);
    expect_line(in, false, "two", 3, 2);
    expect_end(in);
}

/* Nothing is dropped in silence. */
static void data_behind_gzip_is_an_error(void **state)
{
    (void)state;
    static const char *const behind[] = {"three\n", "\0\0x", "\x1f", "\x1f\x8b", "\x1fx"};
    static const size_t sizes[] = {6, 3, 1, 2, 2};
    static const char *const errors[] = {
        "data behind the gzip stream", "data behind the gzip stream",
        "corrupt gzip data: it ends in the middle", "corrupt gzip data: it ends in the middle",
        "corrupt gzip data: incorrect header check"};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct input_line line;
        input_close(input_of("one\ntwo\n", 8, "wb"));
        append(behind[i], sizes[i], "abT");
        struct input *in = input_open(path);
        expect_line(in, false, "one", 3, 1);
        expect_line(in, false, "two", 3, 2);
        assert_int_equal(input_next(in, false, &line), INPUT_ERROR);
        assert_string_equal(input_error(in), errors[i]);
        assert_int_equal(input_next(in, false, &line), INPUT_ERROR);
        input_close(in);
    }
}

/* A pipe gives one byte at a time: what is told by the first bytes must wait for them. */
static void bytes_one_by_one(void **state)
{
    (void)state;
    static const char text[] = "\xef\xbb\xbf"
                               "one\r\n\0\0two\n\"three\n\"\"\"\n";
    int saved = dup(STDIN_FILENO), ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_true(dup2(ends[0], STDIN_FILENO) == STDIN_FILENO);
    close(ends[0]);
    pid_t writer = fork();
    assert_true(writer >= 0);
    if (writer == 0) {
        for (size_t i = 0; i < sizeof text - 1; i++) {
            if (write(ends[1], &text[i], 1) != 1)
                _exit(1);
            usleep(500); /* a hint only: nothing depends on it */
        }
        _exit(0);
    }
    close(ends[1]);
    struct input *in = input_open("-");
    assert_non_null(in);
    expect_line(in, true, "one", 3, 1);
    expect_line(in, true, "two", 3, 2);
    expect_line(in, true, "\"three\n\"\"\"", 10, 3);
    expect_end(in);
    int status = -1;
    assert_true(waitpid(writer, &status, 0) == writer);
    assert_int_equal(status, 0);
    assert_true(dup2(saved, STDIN_FILENO) == STDIN_FILENO);
    close(saved);
}

static void what_cannot_be_read(void **state)
{
    (void)state;
    struct input_line line;
    assert_null(input_open("/nonexistent/log"));
    assert_int_equal(errno, ENOENT);
    struct input *in = input_open("/tmp");
    assert_non_null(in);
    assert_int_equal(input_next(in, false, &line), INPUT_ERROR);
    assert_string_equal(input_error(in), "Is a directory");
    input_close(in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(line_ends),
        cmocka_unit_test(lines_across_blocks),
        cmocka_unit_test(long_lines_are_cut),
        cmocka_unit_test(quotes_join_lines),
        cmocka_unit_test(an_open_quote_joins_nothing),
        cmocka_unit_test(many_open_quotes),
        cmocka_unit_test(open_quotes_and_records),
        cmocka_unit_test(the_bound_of_a_record),
        cmocka_unit_test(an_open_quote_before_an_error),
        cmocka_unit_test(broken_gzip),
        cmocka_unit_test(gzip_members_are_one_text),
        cmocka_unit_test(data_behind_gzip_is_an_error),
        cmocka_unit_test(bytes_one_by_one),
        cmocka_unit_test(what_cannot_be_read),
    };
    return cmocka_run_group_tests_name("input", tests, make_path, remove_path);
}
