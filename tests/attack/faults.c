/* Loaded before the system's library (LD_PRELOAD): counts the operations that change files. At the one whose number
   FAULT_AT names, and for `full` at all later ones, it does what FAULT_KIND says: `kill` ends the process as a power
   cut would, `half` writes half of the bytes, `eio` fails with EIO, `enospc` and `full` with ENOSPC. The number of
   operations goes into the file that FAULT_COUNT names. Standard output and error are left alone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_long seen;

enum { PASS, FAIL, HALF };

static int strike(void) {
  const char *at = getenv("FAULT_AT"), *kind = getenv("FAULT_KIND");
  long now = atomic_fetch_add(&seen, 1) + 1;
  if (!at || !kind || now < atol(at)) return PASS;
  errno = ENOSPC;
  if (!strcmp(kind, "full")) return FAIL;
  if (now > atol(at)) return PASS;
  if (!strcmp(kind, "kill")) kill(getpid(), SIGKILL);
  if (!strcmp(kind, "half")) return HALF;
  if (!strcmp(kind, "eio")) errno = EIO;
  return FAIL;
}

static int counts(int fd) {
  struct stat is;
  return fd > 2 && !fstat(fd, &is) && S_ISREG(is.st_mode);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *bytes, size_t n) {
  int what = counts(fd) ? strike() : PASS;
  return what == FAIL ? -1 : REAL(write)(fd, bytes, what == HALF && n > 1 ? n / 2 : n);
}

#define OPEN(name)                                              \
  int name(const char *path, int flags, ...) {                  \
    va_list rest;                                               \
    va_start(rest, flags);                                      \
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;   \
    va_end(rest);                                               \
    if (flags & O_CREAT && strike() == FAIL) return -1;         \
    return REAL(name)(path, flags, mode);                       \
  }
OPEN(open)
OPEN(open64)

#define PLAIN(name, takes, gives) \
  int name takes { return strike() == FAIL ? -1 : REAL(name) gives; }
PLAIN(fsync, (int fd), (fd))
PLAIN(fdatasync, (int fd), (fd))
PLAIN(ftruncate64, (int fd, off64_t n), (fd, n))
PLAIN(rename, (const char *from, const char *to), (from, to))
PLAIN(mkdir, (const char *path, mode_t mode), (path, mode))

__attribute__((destructor)) static void tell(void) {
  const char *path = getenv("FAULT_COUNT");
  FILE *file = path ? fopen(path, "w") : NULL;
  if (file) {
    fprintf(file, "%ld", atomic_load(&seen));
    fclose(file);
  }
}
