/*
 * Replays saved inputs through a fuzz target without a fuzzer: replay-NAME FILE...
 * Each file is copied to a block of exactly its size, so ASan and valgrind see one byte too many.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A block of exactly *size bytes, or NULL with a message. */
static uint8_t *load(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    uint8_t *data = NULL;
    long n = -1;

    if (f != NULL && fseek(f, 0, SEEK_END) == 0) n = ftell(f);
    if (n >= 0 && fseek(f, 0, SEEK_SET) == 0) {
        *size = (size_t)n;
        data = malloc(*size > 0 ? *size : 1);
    }
    if (data == NULL || fread(data, 1, *size, f) != *size) {
        perror(path);
        free(data);
        data = NULL;
    }
    if (f != NULL) fclose(f);
    return data;
}

int main(int argc, char **argv)
{
    int passed = 0, failed = 0;

    for (int i = 1; i < argc; i++) {
        size_t size = 0;
        uint8_t *data = load(argv[i], &size);
        if (data == NULL) {
            failed++;
            continue;
        }
        /* named before it runs: if it crashes, this is the last line */
        printf("# %s (%zu bytes)\n", argv[i], size);
        fflush(stdout);
        LLVMFuzzerTestOneInput(data, size);
        free(data);
        passed++;
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
