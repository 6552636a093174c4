#ifndef CCRYPT_SHIM_H
#define CCRYPT_SHIM_H

#include <crypt.h>
#include <stdlib.h>
#include <string.h>

// struct crypt_data has 32 KiB of arrays, which Swift would have as tuples.

/* Whether a phrase has a hash (crypt(3)); as long in time wherever they differ. 0 where a hash is of no kind that is known. */
static inline int ccrypt_matches(const char *phrase, const char *hash) {
    struct crypt_data *data = calloc(1, sizeof *data);
    if (data == NULL)
        return 0;
    const char *made = crypt_r(phrase, hash, data);
    unsigned char difference = 1;
    if (made != NULL && made[0] != '*' && strlen(made) == strlen(hash)) {
        difference = 0;
        for (size_t index = 0; made[index] != 0; index++)
            difference |= (unsigned char)made[index] ^ (unsigned char)hash[index];
    }
    explicit_bzero(data, sizeof *data);
    free(data);
    return difference == 0;
}

#endif
