/*
 * iso.h - levels written as text: the syntax tree of an `.iso` file.
 *
 * A file holds relations and levels (doc/synth.md has the grammar).  Expressions have one of five
 * types; iso_parse has checked them, resolved every name and refused cycles, so whoever walks the
 * tree needs no check of its own.  Every variable has a slot of its own in the whole module, so an
 * environment is one array and no binding hides another.
 */
#ifndef RATEL_ISO_ISO_H
#define RATEL_ISO_ISO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "base/vec.h"

enum iso_type { ISO_FORM, ISO_REL, ISO_SET, ISO_TXN, ISO_KEY };

enum iso_op {
#define ISO_OP(id, shape, text) ISO_##id,
#include "iso/iso_ops.def"
#undef ISO_OP
};

/* What a level's definition may choose; also a set of bits: what an expression speaks of. */
enum iso_witness { ISO_NONE = 0, ISO_CO = 1, ISO_VIS_AR = 2 };
enum {
    ISO_USES_CO = 1,
    ISO_USES_AR = 2,
    ISO_USES_VIS = 4,
    ISO_USES_ORDER = 8,
    ISO_USES_RT = 16,    /* real time between transactions, which then lies in the order */
    ISO_USES_PO = 32,    /* program order within a transaction */
    ISO_USES_EVENTS = 64 /* cc, bc: begins and commits by the clocks of clients */
};

struct iso_def;

#define ISO_HUGE ((uint32_t)1 << 30)
/* Definitions may use each other twice over and over.  Whoever walks a tree with its definitions
   unfolded does not begin with one of more parts than this. */
#define ISO_MOST_UNFOLDED 100000u

typedef struct iso_node {
    enum iso_op op;
    enum iso_type type;
    uint32_t id; /* its number in the module, for memos */
    uint32_t line, column;
    uint32_t slot; /* of a variable, or bound by a quantifier */
    bool open;     /* has free variables */
    uint8_t uses;  /* ISO_USES_* */
    uint32_t size; /* parts, those of the definitions it uses counted each time; up to ISO_HUGE */
    const char *name; /* as written, for names */
    struct iso_def *def;
    struct iso_node *kid[3];
} iso_node;

typedef struct iso_def {
    const char *name;
    uint32_t line, column;
    bool has_param;
    uint32_t param; /* slot */
    const char *param_name;
    iso_node *body;
    int mark; /* 0 not checked, 1 being checked, 2 done */
} iso_def;

typedef struct iso_axiom {
    const char *name; /* or "" */
    iso_node *form;
} iso_axiom;

typedef struct iso_base {
    const char *name;
    uint32_t line, column;
    struct iso_level *level;
} iso_base;

typedef struct iso_level {
    const char *name;
    const char *file; /* as given, for messages */
    uint32_t line, column;
    enum iso_witness witness;
    bool witness_given;
    VEC(iso_base) bases;
    VEC(iso_axiom) axioms; /* its own; those of its bases come before them (iso_axioms) */
    int mark;
    uint8_t uses;    /* ISO_USES_*, of its own axioms and of those of its bases */
    uint32_t weight; /* levels and axioms, those of its bases counted each time they are reached */
    struct iso_module *module;
} iso_level;

typedef struct iso_module {
    mem *mem;
    uint32_t nodes, slots;
    VEC(iso_def *) defs;
    VEC(iso_level *) levels;
} iso_module;

/* Tokens as they stand in the text, with what each is for: what a layout needs to know. */
enum iso_role {
    ISO_AS_WORD,    /* spaces around */
    ISO_AS_BINARY,  /* an operator between two */
    ISO_AS_BAR,     /* the | of a quantifier */
    ISO_AS_TIGHT,   /* no spaces */
    ISO_AS_COMMA,   /* a space after it only */
    ISO_AS_POSTFIX, /* no space before it */
    ISO_AS_OPEN,    /* a bracket that opens: no space after it */
    ISO_AS_CALL,    /* one after a name: none on either side */
    ISO_AS_CLOSE,
    ISO_AS_END, /* the ; of a definition or an axiom */
    ISO_AS_BODY,
    ISO_AS_BODY_END,
    ISO_AS_COMMENT
};

typedef struct iso_token {
    const char *text;
    size_t n;
    enum iso_role role;
    bool own_line; /* nothing stands before it in its line */
    bool blank;    /* an empty line stands before it */
} iso_token;

typedef struct iso_tokens {
    iso_token *at;
    size_t n, cap;
} iso_tokens;

/* How `extends` finds what the file itself does not define; NULL: there is none. */
typedef iso_level *(*iso_find)(void *ud, const char *name);

/* Fails through the region's guard, GUARD_PARSE and position, if the text is no module. */
iso_module *iso_parse(mem *m, const char *file, const char *text, size_t n, iso_find find, void *ud,
                      iso_tokens *record); /* record may be NULL */
/* The same text in its usual layout, comments kept. */
void iso_tidy(const iso_tokens *tokens, strbuf *out);

/* The expression as text, variables by what they stand for: name(ud, type, value of its slot). */
typedef const char *(*iso_name)(void *ud, enum iso_type type, uint32_t value);
void iso_print(const iso_node *x, const uint32_t *env, iso_name name, void *ud, strbuf *out);

/* The levels that a level extends, each once and after its own bases, and then itself. */
typedef VEC(const iso_level *) iso_level_list;
void iso_line(mem *m, const iso_level *l, iso_level_list *out);
/* All axioms of a level, bases first; into a vector of the region. */
typedef VEC(const iso_axiom *) iso_axiom_list;
void iso_axioms(mem *m, const iso_level *l, iso_axiom_list *out);

/* iso_shapes.c: is the axiom `all x:key, a,b:W[x] | a != b => vis(a,b) or vis(b,a)`; is it
   `all x:key, t:W[x] \ init | max(ar, (ar . t) & W[x]) in (vis . t)`? */
bool iso_is_noconflict(const iso_node *f);
bool iso_is_near(const iso_node *f);
/* Is it `all x:key | irreflexive(ww[x] ; rw[x])`?  Then *read is the last node: rw[x] of all reads,
   of items or of predicates. */
bool iso_is_own_key(const iso_node *f, const iso_node **read);
/* commit(P), commit(P ; po) or commit(P ; po?): the P, and where in its reader a walk of P must
   arrive so that the read has to see its beginning. */
enum iso_arrival {
    ISO_ANYWHERE,
    ISO_BEFORE, /* po: at an operation before the read */
    ISO_UPTO    /* po?: at the operation of the read, or before it */
};
const iso_node *iso_premise(const iso_node *commit, enum iso_arrival *arrival);
/* Does an axiom of the level, or of one that it extends, use any of these (ISO_USES_*)? */
static inline bool iso_level_uses(const iso_level *l, unsigned uses)
{
    return l->uses & uses;
}

/* iso_library.c: the i-th definition that comes with the program: name, text, and the long name of
   the built-in level that decides the same ("" if there is none); false past the end. */
bool iso_library_at(size_t i, const char **name, const char **text, const char **builtin);
/* Any name or alias of a library definition, NULL if there is none; *near: what was meant. */
const char *iso_library_name(const char *name, const char **near);
/* Why the built-in level of this name, or alias, is not written in the language; NULL: it is, or
   there is none of that name. */
const char *iso_unwritten(const char *name);

/* The word of `words` nearest to s, if it is near enough to be meant; else NULL. */
const char *iso_near(const char *s, const char *const *words, size_t n);

#endif
