/*
 * to_char.c - to_char of dates and timestamps, for the patterns that applications use.
 *
 * Patterns are recognised as PostgreSQL 15 does, the longest first; a letter that no
 * known pattern begins with, and is not inside of double quotes, is refused.  Names of months and
 * days are English, as with lc_time C and without the prefix TM.
 */
#include <assert.h>
#include <stdio.h>

#include "sql/builtin.h"
#include "sql/calendar.h"

static const char *const month_names[] = {"January",   "February", "March",    "April",
                                          "May",       "June",     "July",     "August",
                                          "September", "October",  "November", "December"};
static const char *const day_names[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                        "Thursday", "Friday", "Saturday"};

typedef enum pattern_id {
    PATTERN_YYYY,
    PATTERN_YY,
    PATTERN_MM,
    PATTERN_DDD,
    PATTERN_DD,
    PATTERN_D,
    PATTERN_HH24,
    PATTERN_HH12,
    PATTERN_MI,
    PATTERN_SS,
    PATTERN_MS,
    PATTERN_US,
    PATTERN_Q,
    PATTERN_AM,
    PATTERN_MONTH,
    PATTERN_MON,
    PATTERN_DAY,
    PATTERN_DY
} pattern_id;

/* Longer ones before their beginnings; letters of names choose the case of the output. */
static const struct {
    const char *word;
    pattern_id id;
    bool any_case, clock;
} patterns[] = {
    {"YYYY", PATTERN_YYYY, true, false},    {"YY", PATTERN_YY, true, false},
    {"MONTH", PATTERN_MONTH, false, false}, {"Month", PATTERN_MONTH, false, false},
    {"month", PATTERN_MONTH, false, false}, {"MON", PATTERN_MON, false, false},
    {"Mon", PATTERN_MON, false, false},     {"mon", PATTERN_MON, false, false},
    {"MM", PATTERN_MM, true, false},        {"MI", PATTERN_MI, true, true},
    {"MS", PATTERN_MS, true, true},         {"DAY", PATTERN_DAY, false, false},
    {"Day", PATTERN_DAY, false, false},     {"day", PATTERN_DAY, false, false},
    {"DDD", PATTERN_DDD, true, false},      {"DD", PATTERN_DD, true, false},
    {"DY", PATTERN_DY, false, false},       {"Dy", PATTERN_DY, false, false},
    {"dy", PATTERN_DY, false, false},       {"D", PATTERN_D, true, false},
    {"HH24", PATTERN_HH24, true, true},     {"HH12", PATTERN_HH12, true, true},
    {"HH", PATTERN_HH12, true, true},       {"SSSS", PATTERN_SS, true, true},
    {"SS", PATTERN_SS, true, true},         {"US", PATTERN_US, true, true},
    {"Q", PATTERN_Q, true, false},          {"AM", PATTERN_AM, false, true},
    {"PM", PATTERN_AM, false, true},        {"am", PATTERN_AM, false, true},
    {"pm", PATTERN_AM, false, true},
};
#define N_PATTERNS (sizeof patterns / sizeof patterns[0])

static int pattern_at(value format, uint32_t at)
{
    for (size_t i = 0; i < N_PATTERNS; i++) {
        size_t n = strlen(patterns[i].word), k = 0;
        if (n > format.n - at) continue;
        while (k < n &&
               (patterns[i].any_case ? (format.s[at + k] | 32) == (patterns[i].word[k] | 32)
                                     : format.s[at + k] == patterns[i].word[k]))
            k++;
        if (k == n) return (int)i;
    }
    return -1;
}

static void put_name(strbuf *out, const char *name, const char *word, uint32_t width, size_t n)
{
    bool upper = word[1] >= 'A' && word[1] <= 'Z', lower = word[0] >= 'a';
    size_t length = n && n < strlen(name) ? n : strlen(name);
    for (size_t i = 0; i < length; i++) {
        char c = name[i];
        if (upper && c >= 'a') c = (char)(c - 32);
        if (lower && c >= 'A' && c <= 'Z') c = (char)(c + 32);
        strbuf_char(out, c);
    }
    for (size_t i = length; i < width; i++) strbuf_char(out, ' ');
}

static void put_number(strbuf *out, int64_t v, int width, bool fill)
{
    strbuf_printf(out, "%0*lld", fill ? 0 : width, (long long)v);
}

static void put_pattern(strbuf *out, int which, const civil *t, int64_t days, bool fill)
{
    static const char halves[2][2] = {{'A', 'M'}, {'P', 'M'}};
    int weekday = (int)(((days + 6) % 7 + 7) % 7);
    const char *word = patterns[which].word;
    switch (patterns[which].id) {
    case PATTERN_YYYY: put_number(out, t->year, 4, fill); break;
    case PATTERN_YY: put_number(out, t->year % 100, 2, fill); break;
    case PATTERN_MM: put_number(out, t->month, 2, fill); break;
    case PATTERN_DDD: put_number(out, days - calendar_days(t->year, 1, 1) + 1, 3, fill); break;
    case PATTERN_DD: put_number(out, t->day, 2, fill); break;
    case PATTERN_D: put_number(out, weekday + 1, 1, fill); break;
    case PATTERN_HH24: put_number(out, t->hour, 2, fill); break;
    case PATTERN_HH12: put_number(out, t->hour % 12 ? t->hour % 12 : 12, 2, fill); break;
    case PATTERN_MI: put_number(out, t->minute, 2, fill); break;
    case PATTERN_SS: put_number(out, t->second, 2, fill); break;
    case PATTERN_MS: strbuf_printf(out, "%03d", (int)(t->us / 1000)); break;
    case PATTERN_US: strbuf_printf(out, "%06d", (int)t->us); break;
    case PATTERN_Q: put_number(out, (t->month - 1) / 3 + 1, 1, fill); break;
    case PATTERN_AM:
        for (int i = 0; i < 2; i++)
            strbuf_char(out, (char)(halves[t->hour >= 12][i] | (word[0] >= 'a' ? 32 : 0)));
        break;
    case PATTERN_MONTH: put_name(out, month_names[t->month - 1], word, fill ? 0 : 9, 0); break;
    case PATTERN_MON: put_name(out, month_names[t->month - 1], word, 0, 3); break;
    case PATTERN_DAY: put_name(out, day_names[weekday], word, fill ? 0 : 9, 0); break;
    case PATTERN_DY: put_name(out, day_names[weekday], word, 0, 3); break;
    }
}

_Noreturn static void refuse_pattern(sql_exec *x, const expr *e, strbuf *b)
{
    strbuf_free(b);
    sql_refuse(&x->c, e->position, "to_char with this pattern");
}

value moment_to_char(sql_exec *x, const expr *e, const value *v)
{
    bool date = e->arg[0]->t.id == T_DATE;
    int64_t stamp = date ? v[0].i * DAY_US : v[0].i;
    civil t = calendar_civil(stamp);
    value format = v[1];
    if (!format.n) return value_null();
    strbuf b;
    strbuf_init(&b, x->work.mem);
    for (uint32_t i = 0; i < format.n;) {
        char c = format.s[i];
        bool fill = format.n - i > 2 && (c | 32) == 'f' && (format.s[i + 1] | 32) == 'm';
        if (fill) c = format.s[i += 2];
        int which = pattern_at(format, i);
        if (which >= 0) {
            i += (uint32_t)strlen(patterns[which].word);
            bool suffix =
                format.n - i >= 2 && (format.s[i] | 32) == 't' && (format.s[i + 1] | 32) == 'h';
            /* the hour of a date is one of the session's zone */
            if (suffix || (date && patterns[which].clock) || !strcmp(patterns[which].word, "SSSS"))
                refuse_pattern(x, e, &b);
            put_pattern(&b, which, &t, calendar_day_of(stamp), fill);
        } else if (c == '"' && !fill) {
            for (i++; i < format.n && format.s[i] != '"'; i++) {
                if (format.s[i] == '\\') refuse_pattern(x, e, &b);
                strbuf_char(&b, format.s[i]);
            }
            i++;
        } else {
            bool letter = ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '\\' || (c & 0x80);
            if (letter || fill) refuse_pattern(x, e, &b);
            if (c == 'T') refuse_pattern(x, e, &b);
            strbuf_char(&b, c);
            i++;
        }
    }
    value r = value_text(arena_text(&x->work, b.n ? b.at : "", b.n), b.n);
    strbuf_free(&b);
    return r;
}
