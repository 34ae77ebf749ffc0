/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "fuzz_trace.h"

#include <stdio.h>
#include <stdlib.h>

/* Checks the property of fuzz_trace() on files: those of the corpus, or one
 * that a fuzzer has found. */

#define FILES_MAX_SIZE (1 << 20)


static int run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    const char *error;
    int parsed;
    char *data;
    size_t size;

    if (file == NULL) {
        perror(path);
        return -1;
    }

    /* The buffer is made as small as the file, so that a sanitizer notices when
     * the parser reads beyond its end */
    data = malloc(FILES_MAX_SIZE);
    size = (data == NULL) ? 0 : fread(data, 1, FILES_MAX_SIZE, file);
    fclose(file);
    if (data != NULL) {
        data = realloc(data, size + (size == 0));
    }
    if (data == NULL) {
        return -1;
    }

    error = fuzz_trace(data, size, &parsed);
    free(data);
    printf("%s: %s\n", path, (error != NULL) ? error :
                             parsed ? "parsed" : "refused");
    return (error != NULL) ? -1 : 0;
}

int main(int argc, char **argv)
{
    int failed = 0;
    int i;

    if (argc < 2) {
        fprintf(stderr, "usage: fuzz_files FILE...\n");
        return 2;
    }

    for (i = 1; i < argc; ++i) {
        failed += (run_file(argv[i]) != 0);
    }

    printf("%d files, %d failed\n", argc - 1, failed);
    return failed > 0;
}
