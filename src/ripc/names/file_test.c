/* The operator's file: read, changed, invalid, and without effect on live claims. */
#include <fcntl.h>
#include <sys/stat.h>

#include "ripc/names/names_file.h"
#include "ripc/names/names_world.h"

static void each_line_is_read_as_a_claim(void **state)
{
    static const char text[] = "# the east wing\n"
                               "0x2a 10.0.0.1:17701\n"
                               "\n"
                               "  7\t[fd00::1]:65535 # with a comment\r\n"
                               "18446744073709551615 127.0.0.1:1\n"
                               "0x50 10.0.0.2:5 0xB\n"
                               "80 10.0.0.1:5 010";
    struct names_file file;
    struct why why = {""};
    assert_int_equal(names_file_read(&file, text, sizeof text - 1, "names", &why), 0);
    assert_int_equal(file.count, 5);
    assert_int_equal(file.claims[0].id, 7);
    assert_int_equal(file.claims[0].member, 7);
    assert_int_equal(file.claims[0].address.family, AF_INET6);
    assert_int_equal(file.claims[0].address.port, 65535);
    assert_int_equal(file.claims[0].address.address[0], 0xfd);
    assert_int_equal(file.claims[0].address.address[15], 1);
    assert_int_equal(file.claims[1].id, 42);
    assert_int_equal(file.claims[1].address.family, AF_INET);
    assert_memory_equal(file.claims[1].address.address, ((uint8_t[]){10, 0, 0, 1}), 4);
    assert_int_equal(file.claims[1].address.context, 0);
    assert_int_equal(file.claims[1].incarnation, 0);
    assert_int_equal(file.claims[2].id, 80);
    assert_int_equal(file.claims[2].member, 10);
    assert_true(file.claims[2].group);
    assert_int_equal(file.claims[3].member, 11);
    assert_int_equal(file.claims[4].id, UINT64_MAX);
    assert_int_equal(names_file_find(&file, 80), 2);
    assert_int_equal(names_file_find(&file, 81), 4);
    assert_int_equal(names_file_find(&file, 1), 0);
    names_file_fini(&file);
    assert_int_equal(names_file_read(&file, NULL, 0, "names", &why), 0);
    assert_int_equal(file.count, 0);
    assert_int_equal(names_file_find(&file, 1), 0);
    names_file_fini(&file);
}

#define SIXTEEN      "0123456789abcdef"
#define LONGEST_WORD SIXTEEN SIXTEEN SIXTEEN SIXTEEN

static void an_invalid_line_is_reported_by_its_number(void **state)
{
    static const struct {
        const char *text, *reason;
    } wrong[] = {
        {"42\n", "line 1: expected"},
        {"1 10.0.0.1:1\n42 10.0.0.1:1 1 1\n", "line 2: expected"},
        {"1 2 3 4 5\n", "line 1: expected"},
        {"0 10.0.0.1:1\n", "line 1: bad id '0'"},
        {"-1 10.0.0.1:1\n", "line 1: bad id '-1'"},
        {"0x 10.0.0.1:1\n", "line 1: bad id '0x'"},
        {"0x0x1 10.0.0.1:1\n", "line 1: bad id"},
        {"1f 10.0.0.1:1\n", "line 1: bad id '1f'"},
        {"1x2 10.0.0.1:1\n", "line 1: bad id '1x2'"},
        {"18446744073709551616 10.0.0.1:1\n", "line 1: bad id"},
        {"\n\n1 10.0.0.1\n", "line 3: bad address '10.0.0.1'"},
        {"1 10.0.0.1:\n", "line 1: bad address"},
        {"1 10.0.0.1:0\n", "line 1: bad address"},
        {"1 10.0.0.1:65536\n", "line 1: bad address"},
        {"1 10.0.0.1:1x\n", "line 1: bad address"},
        {"1 10.0.0.1:000001\n", "line 1: bad address"},
        {"1 10.0.0:1\n", "line 1: bad address '10.0.0:1'"},
        {"1 0.0.0.0:1\n", "line 1: bad address"},
        {"1 host.example:1\n", "line 1: bad address"},
        {"1 fd00::1:17701\n", "line 1: bad address 'fd00::1:17701'"},
        {"1 [10.0.0.1]:1\n", "line 1: bad address"},
        {"1 [fd00::1]\n", "line 1: bad address"},
        {"1 []:1\n", "line 1: bad address"},
        {"1 10.0.0.1:1\n2 10.0.0.1:1\n1 10.0.0.2:1\n", "line 3: repeats the id of line 1"},
        {"1 10.0.0.1:1 5\n1 10.0.0.2:1 5\n", "line 2: repeats the id of line 1"},
        {"1 10.0.0.1:1 5\n1 10.0.0.2:1\n", "line 2: the id is a group here and a service"},
        {"1 10.0.0.1:1 1\n", "line 1: a group cannot be its own member"},
        {"1 10.0.0.1:1 0\n", "line 1: bad id"},
        {"1 10.0.0.1:1 5 6 7\n", "line 1: expected ID"},
        {LONGEST_WORD " 10.0.0.1:1\n", "line 1: bad id"},
        {LONGEST_WORD "0 10.0.0.1:1\n", "line 1: expected ID"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct names_file file;
        struct why why = {""};
        int result =
            names_file_read(&file, wrong[i].text, strlen(wrong[i].text), "path/names", &why);
        if (result != -EINVAL || !strstr(why.text, wrong[i].reason) ||
            strncmp(why.text, "path/names: ", 12) != 0)
            fail_msg("case %zu: %d, '%s'", i, result, why.text);
    }
    struct names_file file;
    struct why why = {""};
    assert_int_equal(names_file_read(&file, "1 10.0\0.0.1:1", 13, "names", &why), -EINVAL);
}

static void file_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void ids_are_found_and_moved_as_the_file_says(void **state)
{
    struct names_world world;
    struct names_side side;
    char path[96], services[112];
    struct names_counts counts;
    world_open(&world);
    snprintf(path, sizeof path, "%s/names", world.scratch.above);
    snprintf(services, sizeof services, "file:%s", path);
    file_write(path, "42 10.0.0.1:17701\n43 10.0.0.1:17701\n80 10.0.0.1:5 1\n80 10.0.0.1:6 2\n");
    side_open(&side, &world, services, NULL);
    assert_int_equal(side.count, 0);
    assert_int_equal(names_ask(side.names, 42), 1);
    assert_int_equal(side_count(&side, NOTE_FOUND, 42), 1);
    assert_int_equal(side_last(&side, NOTE_FOUND, 42)->claim.address.port, 17701);
    assert_int_equal(side_last(&side, NOTE_FOUND, 42)->claim.address.context, 0);
    assert_int_equal(names_ask(side.names, 80), 2);
    assert_int_equal(names_ask(side.names, 1), 0);
    names_forget(side.names, 0); /* no failure invalidates the operator's file */
    assert_int_equal(names_known(side.names, 42, NULL, 0), 1);

    /* Same size, same second. */
    file_write(path, "42 10.0.0.1:17702\n43 10.0.0.1:17701\n80 10.0.0.1:5 1\n80 10.0.0.1:6 2\n");
    assert_int_equal(names_ask(side.names, 42), 1);
    assert_int_equal(side_last(&side, NOTE_FOUND, 42)->claim.address.port, 17702);
    assert_int_equal(side_count(&side, NOTE_GONE, 42), 0);

    /* A line is removed; asking for another id notices it. */
    file_write(path, "43 10.0.0.1:17701\n80 10.0.0.1:6 2\n1 10.0.0.1:17701\n");
    assert_int_equal(names_ask(side.names, 43), 1);
    assert_int_equal(side_count(&side, NOTE_GONE, 42), 1);
    assert_int_equal(side_count(&side, NOTE_GONE, 80), 1);
    assert_int_equal(side_count(&side, NOTE_FOUND, 1), 1); /* it was asked for */
    assert_int_equal(names_known(side.names, 42, NULL, 0), 0);

    /* An invalid file changes nothing. */
    file_write(path, "43 10.0.0.1\n");
    assert_int_equal(names_ask(side.names, 43), 1);
    names_count(side.names, &counts);
    assert_int_equal(counts.garbage, 1);
    assert_int_equal(unlink(path), 0); /* its lines remain, and it is not read again */
    assert_int_equal(names_ask(side.names, 43), 1);
    names_count(side.names, &counts);
    assert_int_equal(counts.garbage, 1);
    side_close(&side);
    world_close(&world);
}

static void note_any(void *argument, const struct claim *claim)
{
    uint64_t *sum = argument;
    *sum += claim->id;
}

/* The claim of a live process takes precedence over the file. */
static void a_live_claim_takes_precedence_over_the_file(void **state)
{
    struct names_world world;
    struct names_side one, other;
    char path[96], services[128];
    uint64_t sum = 0;
    world_open(&world);
    snprintf(path, sizeof path, "%s/names", world.scratch.above);
    snprintf(services, sizeof services, "file:%s,host", path);
    file_write(path, "42 10.0.0.1:17701\n18446744073709551615 10.0.0.1:2\n");
    side_open(&one, &world, services, NULL);
    side_open(&other, &world, services, NULL);
    assert_int_equal(names_ask(other.names, 42), 1);
    assert_int_equal(side_claims(&one, 42, 42, 1), 0); /* an id in the file may be claimed */
    assert_int_equal(names_known(one.names, 42, NULL, 0), 1);
    assert_int_equal(side_await(&other, NOTE_FOUND, 42, 2)->claim.address.context, one.context);
    assert_int_equal(names_ask(other.names, 42), 1);
    assert_int_equal(side_last(&other, NOTE_FOUND, 42)->claim.address.context, one.context);
    assert_int_equal(names_list(one.names, note_any, &sum), 2);
    assert_int_equal(sum, 42 + UINT64_MAX);
    struct names_counts counts;
    names_count(one.names, &counts);
    assert_int_equal(counts.conflicts, 0);
    names_withdraw(one.names, 42, 42);
    side_await(&other, NOTE_GONE, 42, 1);
    assert_int_equal(names_ask(other.names, 42), 1); /* now only the file has it */
    assert_int_equal(side_last(&other, NOTE_FOUND, 42)->claim.address.context, 0);
    side_close(&one);
    side_close(&other);
    assert_int_equal(unlink(path), 0);
    world_close(&world);
}

static void a_file_that_cannot_be_read_is_refused(void **state)
{
    struct names_world world;
    char path[96], services[128];
    world_open(&world);
    struct names_config config = {.poller = world.poller,
                                  .folder = world.scratch.folder,
                                  .domain = SCRATCH_DOMAIN,
                                  .services = services,
                                  .events = &side_events};
    struct names *names;
    struct why why = {""};
    snprintf(path, sizeof path, "%s/names", world.scratch.above);
    snprintf(services, sizeof services, "file:%s", path);
    assert_int_equal(names_open(&names, &config, &why), -ENOENT);
    assert_non_null(strstr(why.text, path));
    file_write(path, "42 10.0.0.1:17701\n42\n");
    assert_int_equal(names_open(&names, &config, &why), -EINVAL);
    assert_non_null(strstr(why.text, "line 2: "));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0); /* a pipe without a writer */
    assert_int_equal(names_open(&names, &config, &why), -EINVAL);
    assert_int_equal(unlink(path), 0);
    snprintf(services, sizeof services, "file:%s", world.scratch.above);
    assert_int_equal(names_open(&names, &config, &why), -EINVAL);
    strcpy(services, "file:");
    assert_int_equal(names_open(&names, &config, &why), -EINVAL);
    snprintf(services, sizeof services, "file:%s", path);
    file_write(path, "");
    assert_int_equal(truncate(path, NAMES_FILE_SIZE_MAX + 1), 0);
    assert_int_equal(names_open(&names, &config, &why), -EFBIG);
    assert_int_equal(unlink(path), 0);
    strcpy(services, "file:/proc/self/mem"); /* a plain file that cannot be read at its beginning */
    assert_int_equal(names_open(&names, &config, &why), -EIO);
    world_close(&world);
}

/* Sets the modification time of the file. */
static void file_age(const char *path, int64_t seconds, int64_t nanoseconds)
{
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
                                {.tv_sec = seconds, .tv_nsec = nanoseconds}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* An old file that changes twice within the same second. */
static void a_second_change_within_the_same_second_is_seen(void **state)
{
    struct names_world world;
    struct names_side side;
    char path[96], services[112];
    world_open(&world);
    snprintf(path, sizeof path, "%s/names", world.scratch.above);
    snprintf(services, sizeof services, "file:%s", path);
    while (clock_wall() % NSEC_PER_SEC > NSEC_PER_SEC / 2)
        clock_nap(NSEC_PER_SEC / 100);
    file_write(path, "42 10.0.0.1:17701\n");
    file_age(path, 1000, 5);
    side_open(&side, &world, services, NULL);
    assert_int_equal(names_ask(side.names, 42), 1);
    world_run(&world, NSEC_PER_SEC / 20); /* longer than the resolution of time stamps */
    file_write(path, "42 10.0.0.1:17702\n");
    file_age(path, 1000, 6);
    assert_int_equal(names_ask(side.names, 42), 1);
    assert_int_equal(side_last(&side, NOTE_FOUND, 42)->claim.address.port, 17702);
    side_close(&side);
    assert_int_equal(unlink(path), 0);
    world_close(&world);
}

TEST_MAIN(TEST(a_second_change_within_the_same_second_is_seen), TEST(each_line_is_read_as_a_claim),
          TEST(an_invalid_line_is_reported_by_its_number),
          TEST(ids_are_found_and_moved_as_the_file_says),
          TEST(a_live_claim_takes_precedence_over_the_file),
          TEST(a_file_that_cannot_be_read_is_refused))
