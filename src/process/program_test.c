#include "process/program.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/test.h"

static struct program run(const char *const *words, const char *input)
{
    struct program program;
    struct text text = {0};
    struct why why = {""};
    text_puts(&text, input);
    assert_int_equal(program_run(&program, words, &text, &why), OK);
    text_fini(&text);
    return program;
}

static void input_and_output_are_passed_through(void **state)
{
    const char *const words[] = {"sh", "-c", "read word; echo got $word; echo bad >&2; exit 3",
                                 NULL};
    struct program program = run(words, "seven\n");
    assert_false(program.missing);
    assert_int_equal(program.status, 3);
    assert_string_equal(program.out.data, "got seven\n");
    assert_string_equal(program.fail.data, "bad\n");
    program_fini(&program);
}

static void input_that_is_not_read_raises_no_signal(void **state)
{
    static char much[1 << 20];
    const char *const words[] = {"true", NULL};
    memset(much, 'x', sizeof much - 1);
    struct program program = run(words, much);
    assert_int_equal(program.status, 0);
    program_fini(&program);
}

static void an_unknown_program_is_reported_missing(void **state)
{
    const char *const words[] = {"weft-has-no-such-program", NULL};
    struct program program = run(words, "");
    assert_true(program.missing);
    program_fini(&program);
}

static void a_signal_appears_in_the_status(void **state)
{
    const char *const words[] = {"sh", "-c", "kill -9 $$", NULL};
    struct program program = run(words, "");
    assert_int_equal(program.status, 128 + SIGKILL);
    program_fini(&program);
}

static pid_t start(const char *const *words, bool detached)
{
    const int handles[3] = {0, 1, 2};
    pid_t pid;
    assert_int_equal(program_start(words, handles, detached, &pid), 0);
    return pid;
}

/* A detached program has its own session, and does not ignore the signals that we ignore. */
static void only_a_detached_program_has_its_own_session(void **state)
{
    const char *const words[] = {"sleep", "100", NULL};
    pid_t near = start(words, false), far = start(words, true);
    assert_int_equal(getsid(near), getsid(0));
    assert_int_equal(getsid(far), far);
    kill(near, SIGKILL);
    kill(far, SIGKILL);
    assert_int_equal(program_wait(near), 128 + SIGKILL);
    assert_int_equal(program_wait(far), 128 + SIGKILL);
    assert_int_equal(program_wait(far), -ECHILD);
}

static void a_detached_program_has_the_default_signals(void **state)
{
    const char *const words[] = {"sh", "-c", "kill -TERM $$; exit 0", NULL};
    signal(SIGTERM, SIG_IGN);
    assert_int_equal(program_wait(start(words, false)), 0);
    assert_int_equal(program_wait(start(words, true)), 128 + SIGTERM);
    signal(SIGTERM, SIG_DFL);
}

TEST_MAIN(TEST(input_and_output_are_passed_through), TEST(input_that_is_not_read_raises_no_signal),
          TEST(an_unknown_program_is_reported_missing), TEST(a_signal_appears_in_the_status),
          TEST(only_a_detached_program_has_its_own_session),
          TEST(a_detached_program_has_the_default_signals))
