#include "ripc/core/settings.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/transport.h"
#include "transport/wake/wait.h"

#define SECRET_MIN 8
#define SECRET_MAX 4096

#define RING_SLOTS     512
#define RING_SLOTS_MAX 65536
#define RING_BYTES     (256 * 1024)
#define RING_BYTES_MIN (64 * 1024)
#define RING_BYTES_MAX (1 << 30)

static const char *settings_text(const char *given, const char *variable, const char *otherwise)
{
    if (given)
        return given;
    const char *found = getenv(variable);
    return found && *found ? found : otherwise;
}

const char *settings_domain(void)
{
    return settings_text(NULL, "WEFT_DOMAIN", "default");
}

/* The key is a hash of the secret for this purpose only, so that the secret can also serve other
 * purposes. */
static int settings_key(struct settings *settings, const void *secret, size_t size, struct why *why)
{
    static const char purpose[] = "weft cluster key 1";
    if (size < SECRET_MIN) {
        why_set(why, "secret: has %zu bytes; at least %d are needed", size, SECRET_MIN);
        return -EINVAL;
    }
    if (sodium_init() < 0) {
        why_set(why, "secret: libsodium cannot be initialised");
        return -ENOSYS;
    }
    crypto_generichash_state state;
    crypto_generichash_init(&state, (const uint8_t *)purpose, sizeof purpose - 1,
                            sizeof settings->key);
    crypto_generichash_update(&state, secret, size);
    crypto_generichash_final(&state, settings->key, sizeof settings->key);
    settings->has_key = true;
    return 0;
}

static int settings_secret_file(struct settings *settings, const char *path, struct why *why)
{
    char secret[SECRET_MAX];
    FILE *file = fopen(path, "re");
    if (!file) {
        int error = errno;
        why_set(why, "%s: %s", path, strerror(error));
        return -error;
    }
    size_t size = fread(secret, 1, sizeof secret, file);
    int result = ferror(file) ? -errno : 0;
    if (result)
        why_set(why, "%s: %s", path, strerror(-result));
    else if (size == sizeof secret && fgetc(file) != EOF) {
        why_set(why, "%s: a secret has at most %d bytes", path, SECRET_MAX);
        result = -EINVAL;
    }
    fclose(file);
    while (size > 0 && (secret[size - 1] == '\n' || secret[size - 1] == '\r'))
        size--; /* line ends that an editor added */
    if (result == 0)
        result = settings_key(settings, secret, size, why);
    sodium_memzero(secret, sizeof secret);
    return result;
}

static int settings_secret(struct settings *settings, const struct ripc_config *config,
                           struct why *why)
{
    const char *path = getenv("WEFT_SECRET_FILE");
    if (config->secret)
        return settings_key(settings, config->secret, config->secret_size, why);
    return path && *path ? settings_secret_file(settings, path, why) : 0;
}

/* Host names are not resolved: the peers get this address. */
static int settings_address(const struct settings *settings, struct why *why)
{
    struct in_addr four;
    struct in6_addr six;
    const char *text = settings->address;
    if (!text || inet_pton(AF_INET, text, &four) == 1)
        return 0;
    if (inet_pton(AF_INET6, text, &six) != 1) {
        why_set(why, "address '%.40s': not an IP address, such as 10.0.0.1 or fd00::1", text);
        return -EINVAL;
    }
    if (IN6_IS_ADDR_LINKLOCAL(&six)) {
        why_set(why,
                "address '%.40s': peers cannot tell on which interface it is; use one that is not "
                "link-local, such as fd00::1",
                text);
        return -EINVAL;
    }
    return 0;
}

/* Reads WEFT_PORT, unless the program chose a port. */
static int settings_port(struct settings *settings, struct why *why)
{
    const char *text = getenv("WEFT_PORT");
    if (!settings->port && text && *text) {
        char *end;
        unsigned long port = strtoul(text, &end, 10);
        if (!isdigit((unsigned char)*text) || *end || port < 1 || port > UINT16_MAX) {
            why_set(why, "port '%.40s': not a number from 1 to %d", text, UINT16_MAX);
            return -EINVAL;
        }
        settings->port = (uint16_t)port;
    }
    if (!settings->port || settings->address)
        return 0;
    why_set(why, "port %u: needs the address at which peers connect (WEFT_ADDRESS)",
            (unsigned)settings->port);
    return -EINVAL;
}

static int settings_rings(struct settings *settings, const struct ripc_config *config,
                          struct why *why)
{
    settings->ring_slots = config->ring_slots ? config->ring_slots : RING_SLOTS;
    settings->ring_bytes = config->ring_bytes ? config->ring_bytes : RING_BYTES;
    uint32_t slots = settings->ring_slots;
    if (slots < 2 || slots > RING_SLOTS_MAX || (slots & (slots - 1)) != 0) {
        why_set(why, "ring_slots: %u is not a power of two from 2 to %d", slots, RING_SLOTS_MAX);
        return -EINVAL;
    }
    if (settings->ring_bytes < RING_BYTES_MIN || settings->ring_bytes > RING_BYTES_MAX) {
        why_set(why, "ring_bytes: %u is not from %d to %d", settings->ring_bytes, RING_BYTES_MIN,
                RING_BYTES_MAX);
        return -EINVAL;
    }
    return 0;
}

/* Returns the next entry of a comma-separated list; false at its end. */
static bool settings_word(const char **list, const char **word, size_t *size)
{
    if (!**list)
        return false;
    *word = *list;
    *size = strcspn(*list, ",");
    *list += *size;
    if (**list == ',')
        ++*list;
    return true;
}

bool settings_has_transport(const struct settings *settings, const char *name)
{
    const char *list = settings->transports;
    const char *word;
    size_t size;
    if (!list && strcmp(name, "routed") == 0)
        return settings->node;
    if (!list) /* transports to other hosts need an address of this host */
        return strcmp(name, "shm") == 0 || settings->address;
    while (settings_word(&list, &word, &size))
        if (size == strlen(name) && strncmp(word, name, size) == 0)
            return true;
    return false;
}

bool settings_fabric_only(const struct settings *settings)
{
    return settings->transports && strcmp(settings->transports, "routed") == 0;
}

/* Refuses transports that do not exist or were not built in. */
static int settings_transports(const struct settings *settings, struct why *why)
{
    const char *list = settings->transports ? settings->transports : "";
    const char *word;
    size_t size;
    unsigned known = 0;
    while (settings_word(&list, &word, &size)) {
        bool found = false;
        for (unsigned i = 0; transports[i]; i++)
            found |= size == strlen(transports[i]->name) &&
                     strncmp(word, transports[i]->name, size) == 0;
        if (!found) {
            why_set(why, "transports: \"%.*s\" is not in this build", (int)size, word);
            return -EINVAL;
        }
        known++;
    }
    if (settings->transports && known == 0) {
        why_set(why, "transports: the list is empty");
        return -EINVAL;
    }
    return 0;
}

int settings_read(struct settings *settings, const struct ripc_config *config, struct why *why)
{
    *settings = (struct settings){
        .domain = settings_text(config->domain, "WEFT_DOMAIN", "default"),
        .node = settings_text(config->node, "WEFT_NODE", NULL),
        .transports = settings_text(config->transports, "WEFT_TRANSPORTS", NULL),
        .address = settings_text(config->address, "WEFT_ADDRESS", NULL),
        .provider = settings_text(config->provider, "WEFT_PROVIDER", NULL),
        .port = config->port,
        .flags = config->flags,
        .spin = config->spin_nsec ? config->spin_nsec : WAIT_SPIN_NSEC,
        .yield = config->yield_nsec ? config->yield_nsec : WAIT_YIELD_NSEC,
    };
    settings->names =
        settings_text(config->names, "WEFT_NAMES", settings->node ? "directory" : "host");
    if (config->flags & ~(uint32_t)RIPC_MANUAL) {
        why_set(why, "flags: 0x%x contains unknown bits", config->flags);
        return -EINVAL;
    }
    int result = settings_rings(settings, config, why);
    if (result == 0)
        result = settings_transports(settings, why);
    if (result == 0)
        result = settings_address(settings, why);
    if (result == 0)
        result = settings_port(settings, why);
    if (result == 0)
        result = settings_secret(settings, config, why);
    return result;
}

void settings_fini(struct settings *settings)
{
    sodium_memzero(settings->key, sizeof settings->key);
}
