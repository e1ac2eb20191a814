/* tombstones.c - one value (setting `value`) stands for a deleted row, as in Viper: writing it is a
   delete, reading it is to find that delete, and a scan that returns it did not find the row. */
#include <string.h>

#include "ratel-module.h"

static int is_tombstone(const ratel_module_host *host, ratel_module_call *c, uint32_t value,
                        const char *tombstone)
{
    char text[256];
    int n = value == RATEL_NO_NUMBER ? -1 : host->value_text(c, value, text, sizeof text);
    return n >= 0 && (size_t)n == strlen(tombstone) && !strcmp(text, tombstone);
}

static int map(const ratel_module *self, const ratel_module_host *host, ratel_module_call *c)
{
    const char *tombstone = host->setting(c, "value");
    (void)self;
    if (!tombstone || strlen(tombstone) > 255) {
        host->refuse(c, tombstone ? "the setting value is longer than 255 bytes"
                                  : "the setting value is missing, as in tombstones.so:value=DEAD");
        return 1;
    }
    for (uint32_t o = 0; o < host->ops(c); o++) {
        ratel_module_op op;
        uint32_t value;
        if (!host->op(c, o, &op)) continue;
        if ((op.kind == RATEL_OP_READ || op.kind == RATEL_OP_WRITE) &&
            is_tombstone(host, c, op.value, tombstone))
            host->absent(c, o);
        for (uint32_t i = 0; i < op.rows; i++)
            if (host->row(c, o, i, NULL, &value) && is_tombstone(host, c, value, tombstone))
                host->row_absent(c, o, i);
        if (o % 4096 == 0 && host->poll(c)) return 1;
    }
    return 0;
}

const ratel_module *ratel_module_entry(void)
{
    static const ratel_module module = {RATEL_MODULE_ABI,
                                        sizeof module,
                                        "tombstones",
                                        "one value stands for deleted rows",
                                        map,
                                        NULL,
                                        NULL};
    return &module;
}
