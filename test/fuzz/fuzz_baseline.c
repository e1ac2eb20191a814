/*
 * The fuzz target of baseline files (`check --baseline`): any bytes are accepted or refused with
 * one message and a line. An independent count of the lines that say something must agree, every
 * line that was accepted has three words that came from the file, and accepts itself.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/ci.h"
#include "cli/cli.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int complaints;

/* In place of the program's own, so that the fuzzer's output stays readable. */
void complain(const char *format, ...)
{
    char text[2048];
    va_list given;
    va_start(given, format);
    int n = vsnprintf(text, sizeof text, format, given);
    va_end(given);
    if (n <= 0) abort();
    complaints++;
}

/* What timed_input.c asks of the program: here nothing is silent, and nobody interrupts. */
uint64_t now(void)
{
    return 0;
}

bool interrupted(void)
{
    return false;
}

void visible_to(FILE *f, const char *s)
{
    fputs(s, f);
}

static void fail(const char *what)
{
    fprintf(stderr, "fuzz_baseline: %s\n", what);
    abort();
}

/* Lines with a word before their comment. */
static size_t telling_lines(const uint8_t *at, size_t n)
{
    size_t lines = 0;
    bool word = false, comment = false;
    for (size_t i = 0; i <= n; i++) {
        if (i == n || at[i] == '\n') {
            lines += word;
            word = comment = false;
        } else if (at[i] == '#') {
            comment = true;
        } else if (!comment && !strchr(" \t\r", at[i])) {
            word = true;
        }
    }
    return lines;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int file = -1;
    static char path[64];
    if (file < 0) {
        file = memfd_create("baseline", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    }
    if (file < 0 || ftruncate(file, 0) || pwrite(file, data, size, 0) != (ssize_t)size)
        fail("no file for the input");
    ci_report ci = {0};
    complaints = 0;
    int status = baseline_read(&ci, path);
    if (status != EXIT_HOLDS && status != EXIT_INPUT) fail("another status");
    if (complaints != (status != EXIT_HOLDS)) fail("not one message for one error");
    if (status == EXIT_HOLDS && memchr(data, 0, size)) fail("a NUL character was accepted");
    if (status == EXIT_HOLDS && ci.n_accepted != telling_lines(data, size))
        fail("not as many lines accepted as say something");
    for (size_t i = 0; i < ci.n_accepted; i++) {
        const ci_accepted *x = &ci.accepted[i];
        ci_case k = {0};
        if (!*x->level || !*x->anomaly || !*x->shape) fail("an empty word");
        if (!memmem(data, size, x->anomaly, strlen(x->anomaly))) fail("a word of no line");
        k.level = (char *)(uintptr_t)x->level;
        k.anomaly = (char *)(uintptr_t)x->anomaly;
        k.shape = (char *)(uintptr_t)x->shape;
        if (i < 50 && !baseline_accepts(&ci, &k)) fail("a line that does not accept itself");
    }
    for (size_t i = 0; i < ci.n_accepted; i++) free((char *)(uintptr_t)ci.accepted[i].level);
    free(ci.accepted);
    return 0;
}
