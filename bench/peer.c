#include "peer.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

void peer_open(struct peer_script *peer)
{
    *peer = (struct peer_script){.path = "/tmp/weft-bench-XXXXXX"};
    int descriptor = mkstemp(peer->path);
    peer->problem = descriptor < 0 ? NULL : fdopen(descriptor, "w");
    if (!peer->problem)
        bench_fail("%s: cannot be created", peer->path);
}

void peer_start(struct peer_script *peer, const char *script)
{
    char command[1024];
    assert(peer->problem);
    if (fclose(peer->problem))
        bench_fail("%s: cannot be written", peer->path);
    snprintf(command, sizeof command, "'%s' '%s' '%s'", PEER_PYTHON, script, peer->path);
    peer->answer = popen(command, "r");
    if (!peer->answer)
        bench_fail("%s: cannot be started", PEER_PYTHON);
}

bool peer_close(struct peer_script *peer, const char *library, bool answered)
{
    assert(peer->answer);
    int status = pclose(peer->answer);
    unlink(peer->path);
    if (WIFEXITED(status) && WEXITSTATUS(status) == PEER_MISSING) {
        fprintf(stderr, "bench: skipping %s, which is not installed\n", library);
        return false;
    }
    if (!answered || status)
        bench_fail("%s: the peer failed", library);
    return true;
}
