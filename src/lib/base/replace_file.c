/*
 * replace_file.c - see replace_file.h.
 *
 * The new file gets a name that nobody can foresee and is made with O_EXCL, so a link that somebody
 * planted in a shared directory is never followed.  A symbolic link at the target is followed by
 * hand, because rename would replace the link; stat goes first, so that links which the system
 * refuses to follow are refused here too.
 */
#include "base/replace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"

#define LINKS_FOLLOWED 40 /* as the system does */
#define NAMES_TRIED 100
#define ONE_BLOCK 4096

/* The number of the descriptor that path stands for, or -1. */
static int descriptor_of(const char *path)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    if (!strcmp(path, "/dev/stdout")) return STDOUT_FILENO;
    if (!strcmp(path, "/dev/stderr")) return STDERR_FILENO;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        size_t n = strlen(folders[i]);
        const char *digits = path + n;
        if (strncmp(path, folders[i], n) != 0 || !*digits) continue;
        if (strlen(digits) < 9 && strspn(digits, "0123456789") == strlen(digits))
            return (int)strtol(digits, NULL, 10);
    }
    return -1;
}

/* Bytes of path up to and with its last slash. */
static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* f->path becomes what the link there points to; 0 or an errno. */
static int follow_link(replace_file *f)
{
    char to[PATH_MAX];
    ssize_t n = readlink(f->path, to, sizeof to);
    if (n < 0) return errno;
    size_t folder = to[0] == '/' ? 0 : folder_length(f->path);
    if (folder + (size_t)n >= sizeof f->path) return ENAMETOOLONG;
    memcpy(f->path + folder, to, (size_t)n);
    f->path[folder + (size_t)n] = 0;
    return 0;
}

static int open_straight(replace_file *f, int descriptor)
{
    f->straight = true;
    f->fd = descriptor >= 0 ? fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
                            : open(f->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    return f->fd < 0 ? errno : 0;
}

/* A number that nobody can foresee; without the system's source, one that nobody else has. */
static uint64_t fresh_number(unsigned turn)
{
    uint64_t number = 0;
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, &number, sizeof number);
    if (fd >= 0) close(fd);
    if (got != (ssize_t)sizeof number) number = hash_pair(clock_now() + turn, (uint64_t)getpid());
    return number;
}

/* EBUSY if somebody else has it locked; where files cannot be locked, nobody has. */
static int lock_file(int fd)
{
    return flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK ? EBUSY : 0;
}

/* Locks the file that stands at the target, so that nobody else replaces it meanwhile.  *held: the
   descriptor, or -1 if there is no file, or none that may be opened. */
static int lock_target(const char *path, int *held)
{
    for (unsigned i = 0; i < NAMES_TRIED; i++) {
        struct stat locked, there;
        *held = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
        if (*held < 0) return 0;
        int error = lock_file(*held);
        if (!error && !fstat(*held, &locked) && !lstat(path, &there) &&
            locked.st_dev == there.st_dev && locked.st_ino == there.st_ino)
            return 0;
        close(*held); /* replaced since it was opened: look again */
        *held = -1;
        if (error) return error;
    }
    return EBUSY;
}

/* The new file takes the target's name.  What is at that name is locked until then, and a file that
   appeared there since is not replaced unseen. */
static int take_name(replace_file *f)
{
    for (unsigned i = 0; i < NAMES_TRIED; i++) {
        int held, error = lock_target(f->path, &held);
        if (error) return error;
        if (held < 0 && !f->existed && !link(f->made, f->path)) {
            unlink(f->made);
            return 0;
        }
        if (held < 0 && !f->existed && errno == EEXIST) {
            f->existed = true;
            continue;
        }
        if (rename(f->made, f->path)) error = errno;
        if (held >= 0) close(held);
        return error;
    }
    return EBUSY;
}

/* Makes the new file beside the target. */
static int make_beside(replace_file *f)
{
    size_t folder = folder_length(f->path);
    if (folder + 32 > sizeof f->made) return ENAMETOOLONG;
    memcpy(f->made, f->path, folder);
    for (unsigned i = 0; i < NAMES_TRIED; i++) {
        snprintf(f->made + folder, sizeof f->made - folder, ".ratel-%016llx",
                 (unsigned long long)fresh_number(i));
        /* a file that others may not read must not be readable while it is written */
        f->fd = open(f->made, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, f->existed ? 0600 : 0666);
        if (f->fd >= 0) return 0;
        if (errno != EEXIST) break;
    }
    f->made[0] = 0;
    return errno;
}

int replace_open(replace_file *f, const char *path)
{
    memset(f, 0, sizeof *f);
    f->fd = -1;
    size_t n = strlen(path);
    if (!n) return ENOENT;
    if (n >= sizeof f->path) return ENAMETOOLONG;
    memcpy(f->path, path, n + 1);
    if (descriptor_of(path) >= 0) return open_straight(f, descriptor_of(path));
    f->existed = !stat(path, &f->old);
    if (!f->existed && errno != ENOENT) return errno;
    if (f->existed && S_ISDIR(f->old.st_mode)) return EISDIR;
    if (f->existed && !S_ISREG(f->old.st_mode)) return open_straight(f, -1);
    for (unsigned links = 0;; links++) {
        struct stat st;
        if (lstat(f->path, &st) || !S_ISLNK(st.st_mode)) break;
        if (descriptor_of(f->path) >= 0) return open_straight(f, descriptor_of(f->path));
        if (!strncmp(f->path, "/proc/", 6)) return open_straight(f, -1);
        int error = links < LINKS_FOLLOWED ? follow_link(f) : ELOOP;
        if (error) return error;
    }
    /* rename asks for the folder's permission only: a protected file is not to be replaced */
    if (f->existed && faccessat(AT_FDCWD, f->path, W_OK, AT_EACCESS)) return errno;
    int held, error = lock_target(f->path, &held);
    if (held >= 0) close(held); /* whoever is still reading or writing it may go on */
    return error ? error : make_beside(f);
}

/* The new file gets the owner and the permissions of the old, and reaches the disk before the old
   one goes. */
static int settle(const replace_file *f)
{
    if (!f->existed) return 0;
    mode_t mode = f->old.st_mode & 07777;
    struct stat st;
    if (fstat(f->fd, &st)) return errno;
    if ((st.st_uid != f->old.st_uid || st.st_gid != f->old.st_gid) &&
        fchown(f->fd, f->old.st_uid, f->old.st_gid))
        mode &= 0777; /* it is ours now: no set-user-id */
    if (fchmod(f->fd, mode)) return errno;
    if (fsync(f->fd) && errno != EINVAL && errno != ENOTSUP) return errno;
    return 0;
}

int replace_finish(replace_file *f)
{
    int error = f->straight ? 0 : settle(f);
    if (close(f->fd) && !error) error = errno;
    f->fd = -1;
    if (!error && f->made[0]) error = take_name(f);
    if (!error) f->made[0] = 0;
    replace_abandon(f);
    return error;
}

/* ENOSPC and the like if not even a block fits: then the old file is better than an empty one. */
static int find_room(const replace_file *f)
{
    int error = f->existed ? posix_fallocate(f->fd, 0, ONE_BLOCK) : 0;
    if (ftruncate(f->fd, 0)) return errno;
    return error == ENOSPC || error == EDQUOT || error == EFBIG ? error : 0;
}

int replace_begin(replace_file *f)
{
    if (f->straight) return 0;
    int error = find_room(f);
    if (!error) error = settle(f);
    if (!error) error = lock_file(f->fd);
    if (!error) error = take_name(f);
    if (!error) f->made[0] = 0;
    return error;
}

const char *replace_error(int error, char *text, size_t n)
{
    if (error == EBUSY)
        snprintf(text, n, "another run is writing this file");
    else if (strerror_r(error, text, n))
        snprintf(text, n, "error %d", error);
    return text;
}

void replace_abandon(replace_file *f)
{
    if (f->fd >= 0) close(f->fd);
    f->fd = -1;
    if (f->made[0]) unlink(f->made);
    f->made[0] = 0;
}
