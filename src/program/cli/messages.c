/*
 * messages.c - what the program prints on standard error, and the names of verdicts and exits.
 *
 * Names come from the command line and texts from inputs: neither may drive the terminal.  Both go
 * through visible_text(), which shows control characters and stray bytes as \xNN and cuts at the
 * size of its buffer.
 */
#include <stdarg.h>
#include <string.h>

#include "cli/cli.h"

/* Bytes of the UTF-8 character at s that is fit to print, 0 if there is none: control characters
   and stray bytes would drive the terminal, others would hide or turn around what follows. */
static size_t printable(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    if (s[0] < 0x80) return s[0] >= 0x20 && s[0] != 0x7f;
    size_t n = strnlen(text, 4);
    return utf8_hidden(text, n) ? 0 : utf8_length(text, n);
}

/* s as it may be shown, cut to what fits into buf; its length. */
size_t visible_text(const char *s, char *buf, size_t cap)
{
    size_t n = 0;
    while (*s && n + 5 < cap) {
        size_t len = printable(s);
        if (len) {
            memcpy(buf + n, s, len);
            n += len;
            s += len;
        } else {
            n += (size_t)snprintf(buf + n, cap - n, "\\x%02x", (unsigned char)*s++);
        }
    }
    buf[n] = 0;
    return n;
}

void visible_to(FILE *f, const char *s)
{
    char text[4096];
    visible_text(s, text, sizeof text);
    fputs(text, f);
}

void complain(const char *format, ...)
{
    char text[2048];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    fputs("ratel: ", stderr);
    visible_to(stderr, text);
    fputc('\n', stderr);
}

int exit_of(int code)
{
    switch (code) {
    case RATEL_OK: return EXIT_HOLDS;
    case RATEL_EIO: return EXIT_IO;
    case RATEL_EPARSE:
    case RATEL_EHISTORY:
    case RATEL_EUNSUPPORTED: return EXIT_INPUT;
    case RATEL_ENOMEM:
    case RATEL_ETIME:
    case RATEL_EINTERRUPT: return EXIT_UNDECIDED;
    case RATEL_EINVAL: return EXIT_USAGE;
    default: return EXIT_BUG;
    }
}

void error_line(ratel *r, const char *name, char *buf, size_t cap)
{
    uint64_t line, column;
    size_t n = visible_text(name, buf, cap / 2);
    if (!ratel_errpos(r, &line, &column))
        n += (size_t)snprintf(buf + n, cap - n, ":%llu:%llu: ", (unsigned long long)line,
                              (unsigned long long)column);
    else
        n += (size_t)snprintf(buf + n, cap - n, ": ");
    visible_text(ratel_errmsg(r), buf + n, cap - n);
}

void print_lost(const args *a, const char *name)
{
    const char *p = a->value[O_QUIET] ? "" : ratel_lost(a->context);
    while (*p) {
        size_t n = strcspn(p, "\n");
        visible_to(stderr, name);
        fprintf(stderr, ": lost: %.*s\n", (int)n, p);
        p += n + (p[n] == '\n');
    }
}

int complain_about(ratel *r, const char *name, int code)
{
    char text[4096];
    error_line(r, name, text, sizeof text);
    fprintf(stderr, "%s\n", text);
    return exit_of(code);
}

const char *verdict_name(ratel_verdict v)
{
    return v == RATEL_HOLDS ? "holds" : v == RATEL_VIOLATED ? "violated" : "undecided";
}
