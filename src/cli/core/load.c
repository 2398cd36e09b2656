#include "cli/core/load.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/nearest.h"
#include "base/text.h"
#include "cli/core/file.h"
#include "topology/format/format.h"
#include "topology/generators.h"

/* Tells whether the word looks like a SPEC, `name:...`. */
static bool looks_like_spec(const char *word)
{
    size_t size = strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-");
    return size > 0 && isalpha((unsigned char)word[0]) && word[size] == ':';
}

/* The generator whose name is nearest to the first `size` bytes of the word. */
static struct nearest generator_nearest(const char *word, size_t size)
{
    struct nearest nearest = nearest_make(word, size);
    for (size_t i = 0; generator_name(i); i++)
        nearest_try(&nearest, generator_name(i));
    return nearest;
}

static enum err no_such_generator(const char *word, struct why *why)
{
    struct text all = {0};
    struct nearest nearest = generator_nearest(word, strcspn(word, ":"));
    for (size_t i = 0; generator_name(i); i++)
        text_printf(&all, "%s%s", i ? ", " : "", generator_name(i));
    enum err err =
        why_fail(why, ERR_USAGE, "no such topology: %.80s%s; there are %s", word,
                 nearest_hint(&nearest), text_ok(&all) ? all.data : "those in the manual");
    text_fini(&all);
    return err;
}

/* Tells whether the word is a generator without parameters, as "torus". */
static bool is_generator(const char *word)
{
    for (size_t i = 0; generator_name(i); i++)
        if (strcmp(generator_name(i), word) == 0)
            return true;
    return false;
}

enum err load_topology(struct topology *topology, const char *word, struct why *why)
{
    struct stat info;
    bool input = strcmp(word, "-") == 0;
    if (topology_is_spec(word))
        return topology_build(topology, word, why);
    bool missing = !input && stat(word, &info) != 0;
    if (missing && looks_like_spec(word))
        return no_such_generator(word, why);
    if (missing && is_generator(word))
        return why_fail(why, ERR_USAGE,
                        "%s: no such file; as a topology it needs parameters, "
                        "%s:...; see weft-topology(7)",
                        word, word);
    char *data;
    size_t size;
    struct why reason = {""};
    enum err err = file_read(word, &data, &size, &reason);
    if (err) {
        struct nearest nearest = generator_nearest(word, missing ? strlen(word) : 0);
        return why_fail(why, err, "%s%s", reason.text, nearest_hint(&nearest));
    }
    enum format format;
    if (input || !format_of_name(word, &format))
        format = format_of_content(data, size);
    err = format_read(topology, format, input ? "standard input" : word, data, size, why);
    free(data);
    return err;
}

enum err load_refuse(const char *word, enum err err, const struct why *reason, struct why *why)
{
    if (err == ERR_MEMORY)
        return why_fail(why, err, "%s", reason->text);
    return why_fail(why, err, "%s: %s", strcmp(word, "-") == 0 ? "standard input" : word,
                    reason->text);
}
