/*
 * cmd_verify.c - ratel verify, and the writing of certificates for ratel check.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/synth_cli.h"
#include "cli/timed_input.h"

/* --- writing ---------------------------------------------------------------------------------- */

/* The text comes whole and last. */
static int put_file(const void *buf, size_t n, void *payload)
{
    const args *a = payload;
    output o;
    if (!output_open(a, &o, a->value[O_CERTIFICATE])) return -1;
    write_file_cb(buf, n, o.f); /* an error of it shows at the end */
    return output_close(a, &o) ? 0 : -1;
}

int write_certificate(args *a, const ratel_result *result, const ratel_history *h)
{
    const char *path = a->value[O_CERTIFICATE];
    if (ratel_result_verdict(result) == RATEL_UNDECIDED) {
        complain("%s: not written: the answer is undecided", path);
        return EXIT_UNDECIDED;
    }
    int code = ratel_result_certificate(result, a->context, h, put_file, a);
    if (!code) return EXIT_HOLDS;
    if (code != RATEL_EIO) complain("%s: not written: %s", path, ratel_errmsg(a->context));
    return code == RATEL_EUNSUPPORTED ? EXIT_UNDECIDED : exit_of(code);
}

int certify_level_text(args *a, const char *given, const ratel_history *h, int decided,
                       bool *beyond)
{
    const char *path = a->value[O_CERTIFICATE], *name;
    size_t n;
    int status;
    if (decided == EXIT_UNDECIDED) {
        complain("%s: not written: the answer is undecided", path);
        return EXIT_UNDECIDED;
    }
    char *text = level_text(given, &n, &name, &status);
    if (!text) {
        complain("%s: not written: the definition cannot be read", path);
        return status;
    }
    text_kept kept = {0};
    ratel_verdict v = RATEL_UNDECIDED;
    int code = ratel_certify_definition(&v, a->context, h, text, n, name, keep_text, &kept);
    free(text);
    if (code) {
        if (beyond) *beyond = code == RATEL_EUNSUPPORTED;
        complain("%s: %sno certificate, because %s", path,
                 beyond && *beyond ? "" : "not written: ", ratel_errmsg(a->context));
        status = code == RATEL_EUNSUPPORTED ? EXIT_UNDECIDED : exit_of(code);
    } else if ((v == RATEL_HOLDS ? EXIT_HOLDS : EXIT_VIOLATED) != decided) {
        complain("%s: not written: internal error: the proof says the opposite of the answer",
                 path);
        status = EXIT_BUG;
    } else {
        status = put_file(kept.at, kept.n, a) ? EXIT_IO : EXIT_HOLDS;
    }
    free(kept.at);
    return status;
}

/* --- verifying -------------------------------------------------------------------------------- */

static ptrdiff_t get_file(void *buf, size_t cap, void *payload)
{
    return timed_read(buf, cap, payload);
}

static void print_proof_json(FILE *out, const char *certificate, const char *history,
                             const ratel_proof *p)
{
    json_writer to = json_file(out), *w = &to;
    jw_object(w);
    jw_member_u64(w, "schema", 1);
    jw_member_text(w, "certificate", certificate);
    jw_member_text(w, "history", history);
    jw_member_text(w, "level", p->level);
    jw_member_bool(w, "session_order", p->session_order);
    jw_member_text(w, "ryow", p->ryow);
    jw_member_i64(w, "drift", p->drift);
    if (p->definition) {
        char hash[24];
        snprintf(hash, sizeof hash, "%016llx", (unsigned long long)p->definition);
        jw_member_text(w, "definition", hash);
    }
    if (p->trusted) jw_member_bool(w, "trusted", true);
    if (p->aborted) jw_member_text(w, "aborted", "reads");
    if (p->assumptions) {
        jw_member_u64(w, "assumptions", p->assumptions);
        jw_member_text(w, "assumed", p->assumed);
    }
    jw_member_text(w, "verdict", verdict_name(p->verdict));
    jw_member_bool(w, "proved", p->proved);
    jw_member_u64(w, "steps", p->steps);
    if (!p->proved) jw_member_text(w, "reason", p->reason);
    jw_end_object(w);
    jw_end_line(w);
}

static void print_text(FILE *out, const char *history, const ratel_proof *p)
{
    visible_to(out, history);
    fprintf(out, ": %s %s (session order %s, ryow %s", p->level, verdict_name(p->verdict),
            p->session_order ? "on" : "off", p->ryow);
    if (p->drift) fprintf(out, ", drift %lld", (long long)p->drift);
    if (p->definition)
        fprintf(out, ", as the certificate defines it: %016llx", (unsigned long long)p->definition);
    if (p->trusted) fputs(", timestamps trusted", out);
    if (p->aborted) fputs(", with the reads of aborted transactions", out);
    fputs(p->proved ? "): proved" : "): refused: ", out);
    if (!p->proved) visible_to(out, p->reason);
    fputc('\n', out);
    if (!p->assumptions) return;
    fprintf(out, "  under %llu assumption%s: ", (unsigned long long)p->assumptions,
            p->assumptions == 1 ? "" : "s");
    visible_to(out, p->assumed);
    fputc('\n', out);
}

int cmd_verify(args *a)
{
    ratel *r = a->context;
    ratel_history *h;
    ratel_proof proof;
    if (a->n_files != 2) {
        complain("verify: give a certificate and a history (see ratel verify --help)");
        return EXIT_USAGE;
    }
    const char *certificate = a->files[0], *history = a->files[1];
    bool piped = !strcmp(certificate, "-");
    if (piped && !strcmp(history, "-")) {
        complain("verify: only one of the two files can be standard input");
        return EXIT_USAGE;
    }
    uint64_t definition = 0;
    if (a->value[O_DEFINITION]) {
        size_t size;
        int wrong;
        char *text = read_level_file(a->value[O_DEFINITION], &size, &wrong);
        if (!text) return wrong;
        definition = ratel_definition_hash(text, size);
        free(text);
    }
    FILE *in = piped ? stdin : timed_open(certificate);
    if (!in) return timed_failure(certificate);
    uint64_t start = now();
    int code = read_history(a, history, &h), status;
    stats_seconds(a, "history", "read", seconds_since(start));
    start = now();
    if (!code) warn_incomplete(a, history, h);
    if (code) {
        status = complain_about(r, history, code);
    } else if ((code = ratel_verify(&proof, r, h, get_file, in)) != 0) {
        status = timed_failure(certificate);
        if (status < 0) status = complain_about(r, certificate, code);
    } else {
        FILE *out = open_output(a);
        if (definition && proof.proved && proof.definition != definition) {
            proof.proved = 0;
            snprintf(proof.reason, sizeof proof.reason, "the certificate is about %s",
                     proof.definition ? "another definition" : "a level by its name");
        }
        stats_seconds(a, "certificate", "verify", seconds_since(start));
        stats_number(a, "certificate", "steps", proof.steps);
        status = !out ? EXIT_IO : proof.proved ? EXIT_HOLDS : EXIT_VIOLATED;
        if (out && a->value[O_JSON])
            print_proof_json(out, certificate, history, &proof);
        else if (out)
            print_text(out, history, &proof);
        if (out) status = close_output(a, out, status);
    }
    if (!piped) fclose(in);
    ratel_history_free(h);
    return status;
}
