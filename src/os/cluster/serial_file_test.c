#include "os/cluster/serial_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/test.h"

static char folder[] = "/tmp/weft-serial-XXXXXX";

static int folder_open(void **state)
{
    strcpy(folder + sizeof folder - 7, "XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int folder_close(void **state)
{
    return rmdir(folder); /* fails if anything is left */
}

static void text_keep(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void file_names_contain_the_serial_number(void **state)
{
    assert_int_equal(serial_of_name("serial-17.place", "place"), 17);
    assert_int_equal(serial_of_name("serial-17.log", "place"), 0);
    assert_int_equal(serial_of_name("serial-17.log", NULL), 17);
    assert_int_equal(serial_of_name("serial-17", NULL), 0);
    assert_int_equal(serial_of_name("serial-17.", NULL), 0);
    assert_int_equal(serial_of_name("serial-0.log", NULL), 0);
    assert_int_equal(serial_of_name("serial--1.log", NULL), 0);
    assert_int_equal(serial_of_name("serial-4294967297.log", NULL), 0);
    assert_int_equal(serial_of_name("node-17.log", NULL), 0);
    assert_int_equal(serial_of_name("Serial-17.log", NULL), 0);
    assert_int_equal(serial_of_name("serial- 17.log", NULL), 0);
    assert_int_equal(serial_of_name("serial-+17.log", NULL), 0);
    assert_int_equal(serial_of_name("serial-017.log", NULL), 0);
}

static void a_place_is_saved_and_a_damaged_one_refused(void **state)
{
    char path[CLUSTER_PATH_SIZE];
    struct why why = {0};
    node_id place = 3;
    uint32_t serials[9];
    assert_int_equal(serial_place_read(&place, folder, 17, 9, &why), OK);
    assert_int_equal(place, NODE_NONE); /* none yet */
    assert_int_equal(serial_place_write(folder, 17, 4, &why), OK);
    assert_int_equal(serial_place_write(folder, 17, 5, &why), OK); /* replaces the old one */
    assert_int_equal(serial_place_write(folder, 23, 0, &why), OK);
    assert_int_equal(serial_place_read(&place, folder, 17, 9, &why), OK);
    assert_int_equal(place, 5);
    assert_int_equal(serial_places_find(serials, folder, 9, &why), OK);
    for (node_id v = 0; v < 9; v++)
        assert_int_equal(serials[v], v == 5 ? 17 : v == 0 ? 23 : 0);
    assert_int_equal(serial_place_read(&place, folder, 17, 5, &why),
                     ERR_INPUT); /* the plan is too small */

    serial_path(path, folder, 17, "place");
    text_keep(path, "weft coordinate 1\nserial 17\nserver 6\ncheck 0\n");
    assert_int_equal(serial_place_read(&place, folder, 17, 9, &why), ERR_INPUT);
    assert_memory_equal(why.text, path, strlen(path));
    assert_int_not_equal(serial_places_find(serials, folder, 9, &why), OK);
    unlink(path);
    serial_path(path, folder, 23, "place");
    unlink(path);
}

static void a_machine_reads_the_cables_of_its_own_ports(void **state)
{
    char path[CLUSTER_PATH_SIZE];
    struct why why = {0};
    struct host_machine machine = {.serial = 12};
    snprintf(path, sizeof path, "%s/%s", folder, CLUSTER_WIRING_NAME);
    assert_int_equal(serial_cables_read(&machine, folder, &why), ERR_INPUT); /* no such file */
    text_keep(path,
              "{\"directed\": false, \"multigraph\": true, \"graph\": {},"
              " \"nodes\": [{\"id\": \"7\"}, {\"id\": \"12\"}, {\"id\": \"30\"}], \"links\": ["
              "{\"source\": \"7\", \"target\": \"12\", \"source_port\": 4, \"target_port\": 1},"
              "{\"source\": \"12\", \"target\": \"30\", \"source_port\": 3, \"target_port\": 0},"
              "{\"source\": \"30\", \"target\": \"7\", \"source_port\": 1, \"target_port\": 0}]}");
    if (serial_cables_read(&machine, folder, &why))
        fail_msg("%s", why.text);
    for (unsigned port = 0; port < PORT_MAX; port++) {
        bool is = port == 1 || port == 3;
        assert_int_equal(machine.cables[port].port != PORT_NONE, is);
    }
    assert_int_equal(machine.cables[1].serial, 7);
    assert_int_equal(machine.cables[1].port, 4);
    assert_int_equal(machine.cables[3].serial, 30);
    assert_int_equal(machine.cables[3].port, 0);
    machine.serial = 13;
    assert_int_equal(serial_cables_read(&machine, folder, &why), ERR_USAGE);
    unlink(path);
}

/* Machine 12 with one cable, to a machine of that name. */
static void cable_refused(const char *to, unsigned from_port, unsigned to_port)
{
    char path[CLUSTER_PATH_SIZE], text[512];
    struct why why = {0};
    struct host_machine machine = {.serial = 12};
    snprintf(path, sizeof path, "%s/%s", folder, CLUSTER_WIRING_NAME);
    snprintf(text, sizeof text,
             "{\"directed\": false, \"multigraph\": true, \"graph\": {},"
             " \"nodes\": [{\"id\": \"12\"}%s%s%s], \"links\": [{\"source\": \"12\","
             " \"target\": \"%s\", \"source_port\": %u, \"target_port\": %u}]}",
             strcmp(to, "12") ? ", {\"id\": \"" : "", strcmp(to, "12") ? to : "",
             strcmp(to, "12") ? "\"}" : "", to, from_port, to_port);
    text_keep(path, text);
    assert_int_equal(serial_cables_read(&machine, folder, &why), ERR_INPUT);
    unlink(path);
}

static void impossible_cables_are_refused(void **state)
{
    cable_refused("7", PORT_MAX, 0);
    cable_refused("7", 0, PORT_MAX);
    cable_refused("0", 0, 0);
    cable_refused("-7", 0, 0);
    cable_refused("+7", 0, 0);
    cable_refused("7x", 0, 0);
    cable_refused("rack", 0, 0);
    cable_refused("4294967296", 0, 0);
}

TEST_MAIN(TEST(file_names_contain_the_serial_number),
          cmocka_unit_test_setup_teardown(a_place_is_saved_and_a_damaged_one_refused, folder_open,
                                          folder_close),
          cmocka_unit_test_setup_teardown(a_machine_reads_the_cables_of_its_own_ports, folder_open,
                                          folder_close),
          cmocka_unit_test_setup_teardown(impossible_cables_are_refused, folder_open, folder_close))
