/* Checks whose folder in a data directory it is. */
#include "os/data/data_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/test.h"
#include "node/plan.h"
#include "os/data/data_erase.h"
#include "os/data/data_lock.h"

static const struct data_owner owner = {
    .cluster = 0x123456789abcdef, .topology = "torus:3x3", .server_count = 9, .server = 4};
static const char *const services[] = {"store", "journal", NULL};

static char data[64];

static int folder_begin(void **state)
{
    strcpy(data, "/tmp/weft-data-XXXXXX");
    return mkdtemp(data) ? 0 : -1;
}

static int folder_end(void **state)
{
    uint32_t erased;
    struct why why = {0};
    (void)!data_erase(data, owner.cluster, &erased, &why);
    return access(data, F_OK) == 0 ? rmdir(data) : 0;
}

static enum err open_as(struct data_folder *folder, const struct data_owner *who, struct why *why)
{
    *why = (struct why){0};
    return data_folder_open(folder, data, who, services, why);
}

static void a_folder_is_made_once_and_found_again(void **state)
{
    struct data_folder folder;
    struct why why;
    struct data_owner found;
    char path[200];
    assert_int_equal(data_owner_read(&found, data, 4, &why), ERR_INPUT);
    assert_int_equal(open_as(&folder, &owner, &why), OK);
    assert_true(data_folder_of(&folder, "store") >= 0);
    assert_true(data_folder_of(&folder, "journal") != data_folder_of(&folder, "store"));
    assert_int_equal(data_folder_of(&folder, "other"), -1);
    snprintf(path, sizeof path, "%s/server-4/store/x", data);
    int file = open(path, O_CREAT | O_WRONLY, 0600);
    assert_true(file >= 0);
    close(file);
    data_folder_close(&folder);
    assert_int_equal(open_as(&folder, &owner, &why), OK);
    assert_int_equal(access(path, F_OK), 0);
    data_folder_close(&folder);
    assert_int_equal(data_owner_read(&found, data, 4, &why), OK);
    assert_true(found.cluster == owner.cluster && found.server == 4 && found.server_count == 9);
    assert_string_equal(found.topology, "torus:3x3");
}

static void a_second_server_on_the_same_folder_is_refused(void **state)
{
    struct data_folder first, second;
    struct why why;
    uint32_t erased = 0;
    assert_int_equal(open_as(&first, &owner, &why), OK);
    assert_int_equal(open_as(&second, &owner, &why), ERR_SYSTEM);
    assert_non_null(strstr(why.text, "/server-4: another server uses this data directory"));
    assert_int_equal(data_erase(data, owner.cluster, &erased, &why), ERR_SYSTEM);
    assert_non_null(strstr(why.text, "server 4 runs on its data, so nothing was erased"));
    data_folder_close(&first);
    assert_int_equal(open_as(&second, &owner, &why), OK);
    data_folder_close(&second);
}

static void a_folder_of_another_cluster_or_server_is_refused_by_name(void **state)
{
    struct data_folder folder;
    struct why why;
    struct data_owner other = owner;
    char from[200], to[200];
    assert_int_equal(open_as(&folder, &owner, &why), OK);
    data_folder_close(&folder);
    other.cluster++;
    assert_int_equal(open_as(&folder, &other, &why), ERR_SYSTEM);
    assert_non_null(strstr(why.text, "/server-4: has the data of another cluster of the same "
                                     "topology (torus:3x3, 9 servers)"));
    assert_int_equal(data_folder_check(data, &other, &why), ERR_SYSTEM);
    strcpy(other.topology, "torus:5");
    assert_int_equal(open_as(&folder, &other, &why), ERR_SYSTEM);
    assert_non_null(
        strstr(why.text, "/server-4: has the data of another cluster (torus:3x3, 9 servers)"));
    snprintf(from, sizeof from, "%s/server-4", data);
    snprintf(to, sizeof to, "%s/server-5", data);
    assert_int_equal(rename(from, to), 0);
    other = owner;
    other.server = 5;
    assert_int_equal(open_as(&folder, &other, &why), ERR_SYSTEM);
    assert_non_null(strstr(why.text, "/server-5: has the data of server 4, not of server 5"));
}

static void a_start_that_was_interrupted_is_completed(void **state)
{
    struct data_folder folder;
    struct why why;
    char path[200];
    snprintf(path, sizeof path, "%s/server-4", data);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/server-4/server.json", data);
    int file = open(path, O_CREAT | O_WRONLY, 0600);
    assert_int_equal(write(file, "{\"ver", 5), 5);
    assert_int_equal(open_as(&folder, &owner, &why), OK);
    data_folder_close(&folder);
    close(file);
    file = open(path, O_WRONLY);
    assert_int_equal(pwrite(file, "{\"rev", 5, 0), 5); /* but with files of services it is damage */
    close(file);
    assert_int_equal(open_as(&folder, &owner, &why), ERR_SYSTEM);
    assert_non_null(strstr(why.text, "/server-4/server.json: line "));
    unlink(path);
    assert_int_equal(open_as(&folder, &owner, &why), ERR_SYSTEM);
    assert_non_null(strstr(why.text, "/server-4/server.json: is missing, but the folder has data"));
    assert_int_equal(data_folder_check(data, &owner, &why), ERR_SYSTEM);
    assert_int_equal(access(path, F_OK), -1); /* no empty one is left */
    rmdir((snprintf(path, sizeof path, "%s/server-4/store", data), path));
    rmdir((snprintf(path, sizeof path, "%s/server-4/journal", data), path));
    assert_int_equal(open_as(&folder, &owner, &why), OK);
    data_folder_close(&folder);
}

static void a_check_accepts_what_a_start_can_take_and_changes_nothing(void **state)
{
    struct data_folder folder;
    struct why why = {0};
    char place[200], path[256];
    snprintf(place, sizeof place, "%s/server-4", data);
    snprintf(path, sizeof path, "%s/server.json", place);
    assert_int_equal(data_folder_check(data, &owner, &why), OK);
    assert_int_equal(access(place, F_OK), -1);
    assert_int_equal(mkdir(place, 0700), 0);
    assert_int_equal(data_folder_check(data, &owner, &why), OK);
    assert_int_equal(access(path, F_OK), -1);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    assert_int_equal(data_folder_check(data, &owner, &why), OK);
    assert_int_equal(open_as(&folder, &owner, &why), OK);
    assert_int_equal(data_folder_check(data, &owner, &why), OK); /* also while it runs */
    data_folder_close(&folder);
}

static void a_start_that_fails_takes_back_what_it_has_made(void **state)
{
    static const char *const more[] = {"store", "journal", "probe", NULL};
    struct data_folder folder;
    struct why why = {0};
    char path[200];
    assert_int_equal(open_as(&folder, &owner, &why), OK);
    data_folder_withdraw(&folder);
    snprintf(path, sizeof path, "%s/server-4", data);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(open_as(&folder, &owner, &why), OK);
    data_folder_close(&folder);
    assert_int_equal(data_folder_open(&folder, data, &owner, more, &why), OK);
    data_folder_withdraw(&folder); /* what is older stays, also if it is empty */
    snprintf(path, sizeof path, "%s/server-4/probe", data);
    assert_int_equal(access(path, F_OK), -1);
    snprintf(path, sizeof path, "%s/server-4/store", data);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(data_count(data, owner.cluster), 1);
}

static void a_folder_with_a_file_is_not_taken_back(void **state)
{
    struct data_folder folder;
    struct why why = {0};
    char path[200];
    assert_int_equal(open_as(&folder, &owner, &why), OK);
    snprintf(path, sizeof path, "%s/server-4/store/x", data);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    data_folder_withdraw(&folder);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(data_count(data, owner.cluster), 1);
}

static void only_folders_without_a_byte_of_data_are_withdrawn(void **state)
{
    struct data_folder folder;
    struct why why = {0};
    struct data_owner other = owner;
    char path[200];
    for (node_id server = 4; server < 8; server++) {
        other.server = server;
        other.cluster = server < 7 ? owner.cluster : owner.cluster + 1;
        assert_int_equal(open_as(&folder, &other, &why), OK);
        snprintf(path, sizeof path, "%s/server-%u/store/x", data, server);
        int file = open(path, O_CREAT | O_WRONLY, 0600);
        ssize_t size = server == 5 ? 1 : 0;
        assert_int_equal(write(file, "x", (size_t)size), size);
        close(file);
        if (server == 6)
            data_withdraw(data, owner.cluster); /* while it runs */
        data_folder_close(&folder);
    }
    assert_int_equal(data_count(data, owner.cluster), 2);
    data_withdraw(data, owner.cluster);
    assert_int_equal(data_count(data, owner.cluster), 1);
    assert_int_equal(data_count(data, owner.cluster + 1), 1);
    data_withdraw(data, owner.cluster + 1);
    assert_int_equal(data_count(data, owner.cluster + 1), 0);
}

static void a_folder_that_cannot_be_made_is_named(void **state)
{
    struct data_folder folder;
    struct why why = {0};
    char path[200];
    snprintf(path, sizeof path, "%s/file", data);
    int file = open(path, O_CREAT | O_WRONLY, 0600);
    close(file);
    snprintf(path, sizeof path, "%s/file/below", data);
    assert_int_equal(data_folder_open(&folder, path, &owner, services, &why), ERR_SYSTEM);
    assert_non_null(strstr(why.text, "/file/below/server-4: the data directory cannot be used: "
                                     "Not a directory"));
    snprintf(path, sizeof path, "%s/file", data);
    unlink(path);
}

static void one_start_at_a_time_has_the_data_directory(void **state)
{
    struct data_lock first, second;
    struct why why = {0};
    assert_int_equal(rmdir(data), 0);
    assert_int_equal(data_lock_take(&first, data, &why), OK);
    assert_true(first.made);
    assert_int_equal(data_lock_take(&second, data, &why), ERR_SYSTEM);
    assert_non_null(strstr(why.text, "another weft up starts servers on this data directory"));
    assert_int_equal(second.folder, -1);
    /* The lock of a folder that was removed does not count. */
    assert_int_equal(rmdir(data), 0);
    assert_int_equal(data_lock_take(&second, data, &why), OK);
    assert_true(second.made);
    data_lock_release(&first);
    assert_int_equal(data_lock_take(&first, data, &why), ERR_SYSTEM);
    data_lock_release(&second);
    assert_int_equal(data_lock_take(&first, data, &why), OK);
    assert_false(first.made);
    data_lock_release(&first);
}

static void erasing_keeps_what_is_not_of_the_cluster(void **state)
{
    struct data_folder folder;
    struct why why;
    struct data_owner other = owner;
    uint32_t erased = 0;
    assert_int_equal(open_as(&folder, &owner, &why), OK);
    data_folder_close(&folder);
    other.cluster++;
    other.server = 5;
    assert_int_equal(open_as(&folder, &other, &why), OK);
    data_folder_close(&folder);
    assert_int_equal(data_count(data, owner.cluster), 1);
    assert_int_equal(data_erase(data, owner.cluster, &erased, &why), OK);
    assert_int_equal(erased, 1);
    assert_int_equal(data_count(data, other.cluster), 1);
    assert_int_equal(data_erase(data, other.cluster, &erased, &why), OK);
    assert_int_equal(access(data, F_OK), -1);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, folder_begin, folder_end)

TEST_MAIN(CASE(a_folder_is_made_once_and_found_again),
          CASE(a_second_server_on_the_same_folder_is_refused),
          CASE(a_folder_of_another_cluster_or_server_is_refused_by_name),
          CASE(a_start_that_was_interrupted_is_completed),
          CASE(a_check_accepts_what_a_start_can_take_and_changes_nothing),
          CASE(a_start_that_fails_takes_back_what_it_has_made),
          CASE(a_folder_with_a_file_is_not_taken_back),
          CASE(only_folders_without_a_byte_of_data_are_withdrawn),
          CASE(a_folder_that_cannot_be_made_is_named),
          CASE(one_start_at_a_time_has_the_data_directory),
          CASE(erasing_keeps_what_is_not_of_the_cluster))
