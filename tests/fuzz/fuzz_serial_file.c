/* Tests what a machine without a place finds in the run directory: names of files, the place that
 * it kept, and the cables as they are. The first byte of the input selects which of these the rest
 * is. */
#include <stdio.h>
#include <unistd.h>

#include "fuzz.h"
#include "os/cluster/serial_file.h"

enum { SERIAL = 17, SERVERS = 9 };

static void name_try(const char *name)
{
    char again[64];
    uint32_t serial = serial_of_name(name, "place"), any = serial_of_name(name, NULL);
    assert(serial == 0 || serial == any);
    if (!serial)
        return;
    snprintf(again, sizeof again, "serial-%u.place", serial);
    assert(serial <= SERIAL_MAX && !strcmp(again, name));
}

static void place_try(const char *folder)
{
    struct why why = {""};
    node_id place;
    uint32_t serials[SERVERS];
    enum err err = serial_place_read(&place, folder, SERIAL, SERVERS, &why);
    assert(serial_places_find(serials, folder, SERVERS, &why) == err);
    if (err) {
        fuzz_check_why(&why);
        return;
    }
    assert(place < SERVERS && serials[place] == SERIAL);
    assert(serial_place_write(folder, SERIAL, place, &why) == OK);
    assert(serial_place_read(&place, folder, SERIAL, SERVERS, &why) == OK);
}

static void cables_try(const char *folder)
{
    struct why why = {""};
    struct host_machine machine = {.serial = SERIAL};
    if (serial_cables_read(&machine, folder, &why)) {
        fuzz_check_why(&why);
        return;
    }
    for (unsigned port = 0; port < PORT_MAX; port++)
        assert(machine.cables[port].port == PORT_NONE ||
               (machine.cables[port].port < PORT_MAX && machine.cables[port].serial &&
                machine.cables[port].serial != SERIAL));
}

static void file_try(const uint8_t *data, size_t size, const char *name,
                     void (*try)(const char *folder))
{
    char folder[] = "/dev/shm/weft-fuzz-XXXXXX", path[128];
    assert(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "we");
    assert(file);
    size_t written = fwrite(data, 1, size, file);
    int closed = fclose(file);
    assert(written == size && closed == 0);
    try(folder);
    assert(unlink(path) == 0 && rmdir(folder) == 0); /* nothing else is left there */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    if (data[0] == 'n') {
        char *name = malloc(size);
        assert(name);
        memcpy(name, data + 1, size - 1);
        name[size - 1] = 0;
        name_try(name);
        free(name);
    } else if (data[0] == 'p') {
        file_try(data + 1, size - 1, "serial-17.place", place_try);
    } else if (data[0] == 'c') {
        file_try(data + 1, size - 1, CLUSTER_WIRING_NAME, cables_try);
    }
    return 0;
}
