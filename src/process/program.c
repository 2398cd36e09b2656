/* program: program_run passes input and output through memory files rather than pipes: a memory
 * file never blocks either process, and a program that does not read its input causes no SIGPIPE
 * in this process. */
#include "process/program.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Gives the program a new session, with no signal blocked or ignored. */
static int attributes_detach(posix_spawnattr_t *attributes)
{
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(attributes, &none);
    posix_spawnattr_setsigdefault(attributes, &all);
    return posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK |
                                                    POSIX_SPAWN_SETSIGDEF);
}

int program_start(const char *const *words, const int handles[3], bool detached, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int error = posix_spawn_file_actions_init(&actions);
    if (error)
        return error;
    error = posix_spawnattr_init(&attributes);
    if (error)
        goto actions_destroy;
    if (detached)
        error = attributes_detach(&attributes);
    for (int i = 0; i < 3 && !error; i++)
        error = posix_spawn_file_actions_adddup2(&actions, handles[i], i);
    if (!error)
        error = posix_spawnp(pid, words[0], &actions, &attributes, (char *const *)words, environ);
    posix_spawnattr_destroy(&attributes);
actions_destroy:
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

int program_wait(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -errno;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void program_fini(struct program *program)
{
    text_fini(&program->out);
    text_fini(&program->fail);
}

static enum err refused(const char *what, int error, struct why *why)
{
    return why_fail(why, ERR_SYSTEM, "%s: %s", what, strerror(error));
}

static enum err input_fill(int handle, const struct text *input, struct why *why)
{
    for (size_t done = 0; done < input->size;) {
        ssize_t step = write(handle, input->data + done, input->size - done);
        if (step < 0 && errno != EINTR)
            return refused("input of a program", errno, why);
        done += step > 0 ? (size_t)step : 0;
    }
    if (lseek(handle, 0, SEEK_SET) < 0)
        return refused("input of a program", errno, why);
    return OK;
}

static enum err output_read(int handle, struct text *text, struct why *why)
{
    char buffer[4096];
    if (lseek(handle, 0, SEEK_SET) < 0)
        return refused("output of a program", errno, why);
    for (;;) {
        ssize_t size = read(handle, buffer, sizeof buffer);
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0)
            return refused("output of a program", errno, why);
        if (size == 0)
            return text_ok(text) ? OK : why_memory(why);
        text_add(text, buffer, (size_t)size);
    }
}

static enum err program_finish(struct program *program, const char *const *words,
                               const int handles[3], struct why *why)
{
    pid_t pid;
    int error = program_start(words, handles, false, &pid);
    program->missing = error == ENOENT;
    if (error)
        return program->missing ? OK : refused(words[0], error, why);
    program->status = program_wait(pid);
    return program->status < 0 ? refused(words[0], -program->status, why) : OK;
}

enum err program_run(struct program *program, const char *const *words, const struct text *input,
                     struct why *why)
{
    *program = (struct program){0};
    int handles[3] = {-1, -1, -1};
    enum err err = OK;
    for (int i = 0; i < 3 && !err; i++) {
        handles[i] = memfd_create("weft", MFD_CLOEXEC);
        if (handles[i] < 0)
            err = refused(words[0], errno, why);
    }
    if (!err)
        err = input_fill(handles[0], input, why);
    if (!err)
        err = program_finish(program, words, handles, why);
    if (!err)
        err = output_read(handles[1], &program->out, why);
    if (!err)
        err = output_read(handles[2], &program->fail, why);
    for (int i = 0; i < 3; i++)
        if (handles[i] >= 0)
            close(handles[i]);
    if (err)
        program_fini(program);
    return err;
}
