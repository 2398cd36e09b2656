/* Tests a key as a person writes it: the text is refused, or is read as the number that its digits
 * express. */
#include <ctype.h>

#include "fuzz.h"
#include "keyspace/keyspace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), written[2 * KEY_SIZE + 1];
    struct key key, again;
    assert(text);
    memcpy(text, data, size);
    text[size] = 0;
    if (key_parse(&key, text)) {
        size_t digits = strlen(text), zeros = 2 * KEY_SIZE - digits;
        assert(digits >= 1 && digits <= 2 * KEY_SIZE);
        key_text(&key, written);
        for (size_t i = 0; i < 2 * KEY_SIZE; i++)
            assert(written[i] == (i < zeros ? '0' : tolower((unsigned char)text[i - zeros])));
        assert(key_parse(&again, written) && !memcmp(&key, &again, sizeof key));
        assert(key_route(&key) == strtoull(written + 2 * KEY_SIZE - 16, NULL, 16));
    }
    free(text);
    return 0;
}
