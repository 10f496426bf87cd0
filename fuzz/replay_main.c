/* SPDX-License-Identifier: MIT */
/* Runs a fuzz target over every file of its corpus folder, without a fuzzer; prints TAP. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Exactly as large as the file, so that the address sanitizer sees a read past its end. */
static uint8_t *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    long length = -1;
    uint8_t *data = NULL;

    if (file == NULL)
        return NULL;
    if (fseek(file, 0, SEEK_END) == 0)
        length = ftell(file);
    if (length >= 0 && fseek(file, 0, SEEK_SET) == 0) {
        *size = (size_t)length;
        data = malloc(*size > 0 ? *size : 1);
    }
    if (data != NULL && fread(data, 1, *size, file) != *size) {
        free(data);
        data = NULL;
    }
    fclose(file);
    return data;
}

static int is_input(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int replay(const char *folder, const char *name, int number)
{
    char path[4096];
    size_t size = 0;
    uint8_t *data = NULL;
    int length = snprintf(path, sizeof path, "%s/%s", folder, name);

    if (length > 0 && (size_t)length < sizeof path)
        data = read_file(path, &size);
    if (data == NULL) {
        printf("not ok %d - %s cannot be read\n", number, name);
        return 1;
    }
    /* A crash then shows which input it was. */
    printf("# %s\n", name);
    fflush(stdout);
    int result = LLVMFuzzerTestOneInput(data, size);
    free(data);
    printf("%s %d - %s\n", result == 0 ? "ok" : "not ok", number, name);
    return result != 0;
}

int main(int argc, char **argv)
{
    struct dirent **entries = NULL;
    int failures = 0;

    if (argc != 2) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    int count = scandir(argv[1], &entries, is_input, alphasort);
    if (count <= 0) {
        printf("Bail out! no input in %s\n", argv[1]);
        return 1;
    }
    printf("1..%d\n", count);
    for (int i = 0; i < count; i++) {
        failures += replay(argv[1], entries[i]->d_name, i + 1);
        free(entries[i]);
    }
    free(entries);
    return failures != 0;
}
