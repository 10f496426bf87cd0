/* SPDX-License-Identifier: MIT */
/* Which condition is flipped, from the environment; which were asked, into WEIR_FLIP_ASKED. */
#include "flip.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int weir_flip = -1;
unsigned char weir_flip_asked[WEIR_FLIPS_MAX];

__attribute__((constructor)) static void begin(void)
{
    const char *text = getenv("WEIR_FLIP");
    if (text != NULL)
        weir_flip = atoi(text);
}

/* Children of a fork add theirs. */
__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("WEIR_FLIP_ASKED");
    if (path == NULL)
        return;
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (fd < 0 || write(fd, weir_flip_asked, sizeof weir_flip_asked) < 0)
        abort();
    close(fd);
}
