#ifndef CCRYPT_SHIM_H
#define CCRYPT_SHIM_H

#include <crypt.h>
#include <stdlib.h>
#include <string.h>

// This is in C, because struct crypt_data has 32 KiB of arrays, which Swift would import as tuples.

/* Returns 1 if `hash` is the hash of `phrase` (crypt(3)), 0 otherwise. The time of the comparison does not depend on where
   the hashes differ. The result is also 0 if the type of the hash is unknown, or if there is no memory. */
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
