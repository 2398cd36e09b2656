#include "os/cluster/cluster_file.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test.h"

static void a_cluster_is_written_and_read_again(void **state)
{
    struct why why = {""};
    struct text out = {0};
    struct cluster_file one = {.id = 0x0123456789abcdef,
                               .topology = "torus:3x3",
                               .transport = CLUSTER_UDP,
                               .rate = 1000000000,
                               .hello_ms = 100,
                               .silence_ms = 700,
                               .programs = 5000,
                               .seed = UINT64_MAX,
                               .made_folder = true,
                               .pinned = true,
                               .realtime = true,
                               .commissioned = true,
                               .service_count = 2};
    struct cluster_file other;
    one.services[0] = strdup("/lib/a b\"c.so");
    one.services[1] = strdup("store");
    assert_int_equal(configuration_add(&one.settings, "--set", "store.label=a \"b\" = c", &why),
                     OK);
    assert_int_equal(configuration_add(&one.settings, "--set", "store.copies=3", &why), OK);
    assert_int_equal(cluster_file_deal(&one, 9, 4, &why), OK);
    cluster_file_write(&one, &out);
    assert_true(text_ok(&out));
    if (cluster_file_parse(&other, "cluster.json", out.data, out.size, &why))
        fail_msg("%s", why.text);

    assert_int_equal(other.id, one.id);
    assert_string_equal(other.topology, one.topology);
    assert_int_equal(other.transport, CLUSTER_UDP);
    assert_int_equal(other.rate, one.rate);
    assert_int_equal(other.hello_ms, 100);
    assert_int_equal(other.silence_ms, 700);
    assert_int_equal(other.programs, 5000);
    assert_int_equal(other.seed, UINT64_MAX);
    assert_true(other.made_folder);
    assert_true(other.pinned);
    assert_true(other.realtime);
    assert_true(other.commissioned);
    assert_int_equal(other.service_count, 2);
    assert_string_equal(other.services[0], one.services[0]);
    assert_string_equal(other.services[1], one.services[1]);
    assert_int_equal(other.settings.count, 2);
    assert_string_equal(other.settings.items[0].service, "store");
    assert_string_equal(other.settings.items[0].name, "label");
    assert_string_equal(other.settings.items[0].value, "a \"b\" = c");
    assert_string_equal(other.settings.items[1].origin, "cluster.json");
    assert_int_equal(other.process_count, 4);
    assert_memory_equal(other.process_of, one.process_of, 9 * sizeof *one.process_of);
    text_fini(&out);
    cluster_file_fini(&one);
    cluster_file_fini(&other);
}

static void servers_are_distributed_in_blocks_of_nearly_equal_size(void **state)
{
    struct why why;
    for (uint32_t processes = 1; processes <= 27; processes++) {
        uint32_t counts[27] = {0};
        struct cluster_file file = {0};
        assert_int_equal(cluster_file_deal(&file, 27, processes, &why), OK);
        for (uint32_t v = 0; v < 27; v++) {
            assert_true(v == 0 || file.process_of[v] - file.process_of[v - 1] <= 1);
            counts[file.process_of[v]]++;
        }
        for (uint32_t p = 0; p < processes; p++)
            assert_in_range(counts[p], 27 / processes, (27 + processes - 1) / processes);
        assert_int_equal(file.process_of[cluster_file_first(&file, 13)], file.process_of[13]);
        cluster_file_fini(&file);
    }
}

static void invalid_clusters_are_refused_in_one_line(void **state)
{
    static const char *const bad[] = {
        "",
        "[]",
        "{}",
        "{\"version\": 1}",
        "{\"version\": 2, \"servers\": 1, \"processes\": [[0]]}",
        "{\"version\": 1, \"servers\": 2, \"processes\": [[0]]}",
        "{\"version\": 1, \"servers\": 2, \"processes\": [[0, 0]]}",
        "{\"version\": 1, \"servers\": 2, \"processes\": [[0, 1], []]}",
        "{\"version\": 1, \"servers\": 2, \"processes\": [[0, 2]]}",
        "{\"version\": 1, \"servers\": 2, \"processes\": [[0, 1]], \"processes\": [[0, 1]]}",
        "{\"version\": 1, \"servers\": 99999999, \"processes\": [[0]]}",
        "{\"version\": 1, \"processes\": [[0]], \"servers\": 1}",
        "{\"version\": 1, \"servers\": 1, \"processes\": [[0]], \"wire\": \"ether\"}",
        "{\"version\": 1, \"servers\": 1, \"processes\": [[0]], \"id\": \"xyz\"}",
        "{\"version\": 1, \"servers\": 1, \"processes\": [[0]], \"services\": [\"near.so\"]}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct why why = {""};
        struct cluster_file file;
        assert_int_equal(cluster_file_parse(&file, "f", bad[i], strlen(bad[i]), &why), ERR_INPUT);
        assert_true(strncmp(why.text, "f: ", 3) == 0 && !strchr(why.text, '\n'));
        assert_null(file.process_of);
    }
}

/* Checks that a file with these fields is refused for this reason and no other. */
static void refused_for(const char *fields, const char *reason)
{
    char text[4096];
    struct why why = {""};
    struct cluster_file file;
    int size = snprintf(text, sizeof text, "{\"version\": 1, %s}", fields);
    assert_true(size < (int)sizeof text);
    if (cluster_file_parse(&file, "f", text, (size_t)size, &why) == OK)
        fail_msg("%s", fields);
    if (!strstr(why.text, reason))
        fail_msg("%s: %s", fields, why.text);
}

static void an_invalid_field_is_named(void **state)
{
    static const char *const numbers[] = {"-1", "1.5", "1e3", "18446744073709551616", "4294967296"};
    char text[2048];
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        snprintf(text, sizeof text, "\"hello_ms\": %s", numbers[i]);
        refused_for(text, "hello_ms: expected a whole number up to 4294967295");
    }
    refused_for("\"rate\": 18446744073709551616", "rate: expected a whole number");
    refused_for("\"id\": \"0123456789abcde\"", "id: expected 16 hexadecimal digits");
    refused_for("\"id\": \"0123456789abcdef0\"", "id: expected 16 hexadecimal digits");
    refused_for("\"id\": \"0123456789abcdeg\"", "id: expected 16 hexadecimal digits");
    int size = snprintf(text, sizeof text, "\"topology\": \"");
    memset(text + size, 'x', CLUSTER_WORDS_SIZE);
    snprintf(text + size + CLUSTER_WORDS_SIZE, 2, "\"");
    refused_for(text, "topology: too long");
    refused_for("\"services\": [7]", "services: expected absolute paths, or names of services");
    refused_for("\"services\": [\"near/one\"]",
                "services: expected absolute paths, or names of services");
    refused_for("\"services\": [\"\"]", "services: expected absolute paths, or names of services");
    size = snprintf(text, sizeof text, "\"services\": [");
    for (unsigned i = 0; i <= CLUSTER_SERVICES_MAX; i++)
        size += snprintf(text + size, sizeof text - (size_t)size, "%s\"/s\"", i ? ", " : "");
    snprintf(text + size, sizeof text - (size_t)size, "]");
    refused_for(text, "services: more than 16");
    refused_for("\"processes\": []", "processes: expected once, after servers");
    refused_for("\"servers\": 2, \"processes\": [[0, 1], 7]",
                "processes: expected a list of lists");
    refused_for("\"servers\": 2, \"processes\": [[0, \"1\"]]",
                "processes: expected the ids of servers");
    refused_for("\"servers\": 2, \"processes\": [[0, 0.5]]", "processes: no server 0.5");
    refused_for("\"servers\": 2, \"processes\": [[0, 99999999]]", "processes: no server 99999999");
}

/* A later count is skipped, like any unknown field. */
static void the_server_count_comes_before_the_processes(void **state)
{
    static const char text[] =
        "{\"version\": 1, \"servers\": 2, \"processes\": [[0, 1]], \"servers\": 4}";
    struct why why = {""};
    struct cluster_file file;
    assert_int_equal(cluster_file_parse(&file, "f", text, sizeof text - 1, &why), OK);
    assert_int_equal(file.server_count, 2);
    cluster_file_fini(&file);
}

static void unknown_fields_are_skipped(void **state)
{
    const char *text = "{\"version\": 1, \"later\": {\"a\": [1, 2]}, \"servers\": 1, "
                       "\"processes\": [[0]]}";
    struct why why = {""};
    struct cluster_file file;
    assert_int_equal(cluster_file_parse(&file, "f", text, strlen(text), &why), OK);
    assert_int_equal(file.server_count, 1);
    cluster_file_fini(&file);
}

static void a_folder_path_too_long_for_sockets_is_refused(void **state)
{
    char folder[CLUSTER_FOLDER_MAX + 2], path[CLUSTER_PATH_SIZE];
    struct why why = {""};
    memset(folder, 'f', sizeof folder);
    folder[CLUSTER_FOLDER_MAX + 1] = '\0';
    assert_int_equal(cluster_folder_check(folder, &why), ERR_USAGE);
    folder[CLUSTER_FOLDER_MAX] = '\0';
    assert_int_equal(cluster_folder_check(folder, &why), OK);
    cluster_path(path, folder, CLUSTER_SERVERS_MAX - 1, "socket");
    assert_true(strlen(path) < 108);
    assert_int_equal(cluster_folder_check("", &why), ERR_USAGE);
}

/* Starts a child that holds the lock until it is killed; returns once the lock is held. */
static pid_t holder_start(const char *folder, uint64_t *incarnation)
{
    int told[2];
    assert_int_equal(pipe(told), 0);
    pid_t child = fork();
    if (child == 0) {
        uint64_t mine = 0;
        if (cluster_lock_take(folder, 5, &mine) < 0)
            mine = 0;
        if (write(told[1], &mine, sizeof mine) == sizeof mine)
            pause();
        _exit(1);
    }
    assert_int_equal(read(told[0], incarnation, sizeof *incarnation), sizeof *incarnation);
    close(told[0]);
    close(told[1]);
    return child;
}

static void a_lock_names_its_holder_and_ends_with_it(void **state)
{
    char folder[] = "/tmp/weft-test-XXXXXX", path[CLUSTER_PATH_SIZE];
    uint64_t first, second, none;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(cluster_lock_holder(folder, 5), 0); /* no file yet */

    pid_t child = holder_start(folder, &first);
    assert_int_not_equal(first, 0);
    assert_int_equal(cluster_lock_holder(folder, 5), child);
    assert_int_equal(cluster_lock_take(folder, 5, &none), -EBUSY);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_int_equal(cluster_lock_holder(folder, 5), 0);

    child = holder_start(folder, &second);
    assert_int_equal(cluster_lock_holder(folder, 5), child);
    assert_true(second > first);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);

    /* The last incarnation is far in the future, as if the wall clock had been set back since. */
    cluster_path(path, folder, 5, "lock");
    FILE *file = fopen(path, "w");
    fprintf(file, "1 18000000000000000000\n");
    fclose(file);
    int handle = cluster_lock_take(folder, 5, &second);
    assert_true(handle >= 0);
    assert_true(second == 18000000000000000001u);
    close(handle);
    unlink(path);
    assert_int_equal(rmdir(folder), 0);
}

static void a_lock_is_valid_until_its_file_is_removed_or_replaced(void **state)
{
    char folder[] = "/tmp/weft-test-XXXXXX", moved[sizeof folder + 2], path[CLUSTER_PATH_SIZE];
    uint64_t life;
    assert_non_null(mkdtemp(folder));
    snprintf(moved, sizeof moved, "%s-2", folder);
    int lock = cluster_lock_take(folder, 5, &life);
    assert_true(lock >= 0);
    assert_true(cluster_lock_stands(lock, folder, 5));

    assert_int_equal(rename(folder, moved), 0);
    assert_true(cluster_lock_stands(lock, folder, 5)); /* the folder is complete, but elsewhere */
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_true(cluster_lock_stands(lock, folder, 5));
    int other = cluster_lock_take(folder, 5, &life);
    assert_true(other >= 0);
    assert_false(cluster_lock_stands(lock, folder, 5)); /* another lock has its name */
    assert_true(cluster_lock_stands(other, folder, 5));

    cluster_path(path, folder, 5, "lock");
    unlink(path);
    assert_false(cluster_lock_stands(other, folder, 5));
    cluster_path(path, moved, 5, "lock");
    unlink(path);
    assert_false(cluster_lock_stands(lock, folder, 5));
    close(lock);
    close(other);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(rmdir(moved), 0);
}

TEST_MAIN(TEST(a_cluster_is_written_and_read_again),
          TEST(servers_are_distributed_in_blocks_of_nearly_equal_size),
          TEST(invalid_clusters_are_refused_in_one_line), TEST(an_invalid_field_is_named),
          TEST(the_server_count_comes_before_the_processes), TEST(unknown_fields_are_skipped),
          TEST(a_folder_path_too_long_for_sockets_is_refused),
          TEST(a_lock_names_its_holder_and_ends_with_it),
          TEST(a_lock_is_valid_until_its_file_is_removed_or_replaced))
