/* A notification with a token that its owner never gave out, with another id of the owner, or whose
 * notice is closed, is an error of ripc_notify. It harms no other use of the connection. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <weft/ripc.h>

#define SECOND 1000000000LL

static int failed, test;

static void report(int right, const char *what, int result)
{
    printf("%s %d - %s (%d)\n", right ? "ok" : "not ok", ++test, what, result);
    failed |= !right;
}

static void must(int result)
{
    if (result >= 0)
        return;
    printf("Bail out! %s\n", ripc_strerror(result));
    exit(1);
}

int main(void)
{
    int64_t deadline = ripc_after(60 * SECOND);
    struct ripc *owner, *other;
    struct ripc_service *service, *ordinary;
    struct ripc_message message;
    struct ripc_notice *notice;
    struct ripc_handle handle;
    uint64_t value = 0;

    printf("1..10\n");
    must(ripc_open(NULL, &owner));
    must(ripc_open(NULL, &other));
    must(ripc_bind(other, 0, 0, &service));
    must(ripc_notice_open(owner, NULL, NULL, &notice, &handle));

    struct ripc_handle forged = {handle.service, handle.token + 1};
    int result = ripc_notify(service, &forged, 1, deadline);
    report(result == -ENOENT, "a forged token is refused", result);
    result = ripc_notify(service, &forged, 1, RIPC_NOW);
    report(result == -ENOENT, "it is refused again, without waiting", result);

    result = ripc_notify(service, &handle, 2, deadline);
    report(result == 0, "the right token is accepted", result);
    result = ripc_notice_wait(notice, &value, deadline);
    report(result == 1 && value == 2, "its notification is the only one", result);
    result = ripc_notice_wait(notice, &value, RIPC_NOW);
    report(result == -EAGAIN, "no other has come", result);

    must(ripc_bind(owner, 0, 0, &ordinary));
    struct ripc_handle elsewhere = {ripc_service_id(ordinary), handle.token};
    result = ripc_notify(service, &elsewhere, 4, RIPC_NOW);
    report(result == 0 || result == -EAGAIN || result == -ENOENT,
           "another id of the owner is not known to be wrong yet", result);
    result = ripc_notify(service, &elsewhere, 4, deadline);
    report(result == -ENOENT, "another id of the owner is refused", result);
    must(ripc_send(service, elsewhere.service, "hello", 5, deadline));
    result = ripc_receive(ordinary, &message, 1, deadline);
    report(result == 1 && message.size == 5, "the service with that id still gets messages",
           result);
    ripc_release(&message);
    result = ripc_notify(service, &handle, 5, deadline);
    report(result == 0 && ripc_notice_wait(notice, &value, deadline) == 1 && value == 5,
           "the right handle is still accepted", result);

    must(ripc_notice_close(notice));
    do
        result = ripc_notify(service, &handle, 3, deadline);
    while (result == 0 && ripc_now() < deadline);
    report(result == -ENOENT, "a closed notice is refused once its owner has said so", result);

    must(ripc_close(other, deadline));
    must(ripc_close(owner, deadline));
    return failed;
}
