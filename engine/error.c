/* SPDX-License-Identifier: MIT */
/*
 * Version and error texts.
 */
#include "export.h"

#include <errno.h>

#define TEXT(x)  #x
#define VALUE(x) TEXT(x)

const char *weir_version(void)
{
    return VALUE(WEIR_VERSION_MAJOR) "." VALUE(WEIR_VERSION_MINOR) "." VALUE(WEIR_VERSION_PATCH);
}

const char *weir_strerror(int error)
{
    switch (error) {
    case 0:
        return "success";
    case -EINVAL:
        return "an argument is not valid";
    case -ERANGE:
        return "a number is out of range, or a policy cannot be kept exactly";
    case -ENOMEM:
        return "memory cannot be had";
    case -ENOENT:
        return "there is no such limit, or no such time zone";
    case -EEXIST:
        return "a limit of this name exists";
    case -ENAMETOOLONG:
        return "a name has more than 63 bytes";
    case -ENOSPC:
        return "there are as many limits, or keys, as the options allow";
    case -E2BIG:
        return "more than the limit can ever hold";
    case -ETIMEDOUT:
        return "it cannot be had by the deadline";
    case -EINTR:
        return "a signal interrupted the wait";
    case -EALREADY:
        return "the permit was released before";
    case -EIO:
        return "random bytes, or the file of a time zone, cannot be read";
    default:
        return "unknown error";
    }
}
