/* Configurations at the limits of what is allowed. */
#include "ripc/core/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/test.h"

enum { SLOTS_MAX = 65536, BYTES_MIN = 64 * 1024, BYTES_MAX = 1 << 30 }; /* as in the manual */

/* A refusal must come with a reason. */
static int read_config(const struct ripc_config *config, struct settings *settings)
{
    struct why why = {""};
    int result = settings_read(settings, config, &why);
    assert_int_equal(result != 0, why.text[0] != '\0');
    return result;
}

static int read_rings(uint32_t slots, uint32_t bytes)
{
    struct settings settings;
    return read_config(&(struct ripc_config){.ring_slots = slots, .ring_bytes = bytes}, &settings);
}

static void ring_sizes_outside_the_limits_are_refused(void **state)
{
    assert_int_equal(read_rings(1, 0), -EINVAL);
    assert_int_equal(read_rings(2, 0), 0);
    assert_int_equal(read_rings(3, 0), -EINVAL);
    assert_int_equal(read_rings(SLOTS_MAX, 0), 0);
    assert_int_equal(read_rings(2 * SLOTS_MAX, 0), -EINVAL);
    assert_int_equal(read_rings(0, BYTES_MIN - 1), -EINVAL);
    assert_int_equal(read_rings(0, BYTES_MIN), 0);
    assert_int_equal(read_rings(0, BYTES_MAX), 0);
    assert_int_equal(read_rings(0, BYTES_MAX + 1), -EINVAL);
}

static void a_secret_has_at_least_eight_bytes(void **state)
{
    struct settings settings;
    struct ripc_config config = {.secret = "12345678", .secret_size = 7};
    assert_int_equal(read_config(&config, &settings), -EINVAL);
    assert_false(settings.has_key);
    config.secret_size = 8;
    assert_int_equal(read_config(&config, &settings), 0);
    assert_true(settings.has_key);
    settings_fini(&settings);
    assert_memory_equal(settings.key, (uint8_t[sizeof settings.key]){0}, sizeof settings.key);
}

/* Reads a secret from a file of `size` bytes followed by `ending`. */
static int read_secret_file(unsigned size, const char *ending, struct settings *settings)
{
    char path[] = "/tmp/weft-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    for (unsigned i = 0; i < size; i++)
        assert_int_equal(write(fd, "x", 1), 1);
    assert_int_equal(write(fd, ending, strlen(ending)), (ssize_t)strlen(ending));
    close(fd);
    assert_int_equal(setenv("WEFT_SECRET_FILE", path, 1), 0);
    int result = read_config(&(struct ripc_config){0}, settings);
    unsetenv("WEFT_SECRET_FILE");
    unlink(path);
    return result;
}

static void line_ends_after_a_secret_in_a_file_are_ignored(void **state)
{
    struct settings plain, ended, given;
    assert_int_equal(read_secret_file(7, "\n\n", &plain), -EINVAL);
    assert_int_equal(read_secret_file(0, "\n\n", &plain), -EINVAL);
    assert_int_equal(read_secret_file(8, "", &plain), 0);
    assert_int_equal(read_secret_file(8, "\r\n", &ended), 0);
    assert_memory_equal(plain.key, ended.key, sizeof plain.key);
    const struct ripc_config config = {.secret = "xxxxxxxx", .secret_size = 8};
    assert_int_equal(read_config(&config, &given), 0);
    assert_memory_equal(plain.key, given.key, sizeof plain.key);
    assert_int_equal(read_secret_file(4096, "", &plain), 0);
    assert_int_equal(read_secret_file(4097, "", &plain), -EINVAL);
    assert_int_equal(setenv("WEFT_SECRET_FILE", "/nowhere/secret", 1), 0);
    assert_int_equal(read_config(&(struct ripc_config){0}, &plain), -ENOENT);
    assert_int_equal(setenv("WEFT_SECRET_FILE", "/", 1), 0); /* opens, but cannot be read */
    assert_int_equal(read_config(&(struct ripc_config){0}, &plain), -EISDIR);
    unsetenv("WEFT_SECRET_FILE");
}

static void transports_are_chosen_by_their_whole_names(void **state)
{
    struct settings settings;
    struct ripc_config config = {.transports = "shm,routed"};
    assert_int_equal(read_config(&config, &settings), 0);
    assert_true(settings_has_transport(&settings, "shm"));
    assert_true(settings_has_transport(&settings, "routed"));
    assert_false(settings_has_transport(&settings, "udp"));
    assert_false(settings_has_transport(&settings, "sh"));
    assert_false(settings_fabric_only(&settings));
    config.transports = "routed";
    assert_int_equal(read_config(&config, &settings), 0);
    assert_true(settings_fabric_only(&settings));
    config.transports = "sh";
    assert_int_equal(read_config(&config, &settings), -EINVAL);
    config.transports = "";
    assert_int_equal(read_config(&config, &settings), -EINVAL);
    config.transports = ",";
    assert_int_equal(read_config(&config, &settings), -EINVAL);
    config = (struct ripc_config){.address = "127.0.0.1"};
    assert_int_equal(read_config(&config, &settings), 0);
    assert_true(settings_has_transport(&settings, "udp"));
    assert_false(settings_has_transport(&settings, "routed")); /* there is no node */
    assert_false(settings_fabric_only(&settings));
    config.address = "localhost";
    assert_int_equal(read_config(&config, &settings), -EINVAL);
    config.address = "fe80::1";
    assert_int_equal(read_config(&config, &settings), -EINVAL);
    config.address = "fd00::1";
    assert_int_equal(read_config(&config, &settings), 0);
    config = (struct ripc_config){.flags = RIPC_MANUAL << 1};
    assert_int_equal(read_config(&config, &settings), -EINVAL);
}

static int read_port(uint16_t port, const char *variable, struct settings *settings)
{
    assert_int_equal(setenv("WEFT_PORT", variable, 1), 0);
    int result = read_config(&(struct ripc_config){.address = "127.0.0.1", .port = port}, settings);
    unsetenv("WEFT_PORT");
    return result;
}

static void a_port_comes_from_the_program_or_from_the_environment(void **state)
{
    static const char *const wrong[] = {"0", "65536", "x", "1x", "-1", "+1", " 1", "1 "};
    struct settings settings;
    assert_int_equal(read_port(0, "", &settings), 0);
    assert_int_equal(settings.port, 0);
    assert_int_equal(read_port(0, "1", &settings), 0);
    assert_int_equal(settings.port, 1);
    assert_int_equal(read_port(0, "65535", &settings), 0);
    assert_int_equal(settings.port, 65535);
    assert_int_equal(read_port(17701, "x", &settings), 0);
    assert_int_equal(settings.port, 17701);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(read_port(0, wrong[i], &settings), -EINVAL);
    assert_int_equal(read_config(&(struct ripc_config){.port = 17701}, &settings), -EINVAL);
}

TEST_MAIN(TEST(ring_sizes_outside_the_limits_are_refused), TEST(a_secret_has_at_least_eight_bytes),
          TEST(line_ends_after_a_secret_in_a_file_are_ignored),
          TEST(transports_are_chosen_by_their_whole_names),
          TEST(a_port_comes_from_the_program_or_from_the_environment))
