/* loop: calls for programs that have an event loop of their own, or no library threads. */
#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "ripc/core/remote.h"
#include "ripc/message/notice.h"
#include "ripc/message/receive.h"
#include "transport/fork/descriptor.h"

int ripc_progress(struct ripc *ripc)
{
    if (!context_is_ours(ripc))
        return -ECHILD;
    lock_take(&ripc->lock);
    int moved = waiting_progress(ripc);
    lock_drop(&ripc->lock);
    if (ripc->manual) {
        moved += poller_step(ripc->poller, 0);
        int called = notices_deliver(ripc, RIPC_NOW);
        moved = called < 0 ? called : moved + called;
    }
    return moved;
}

static int loop_fd_add(int loop, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};
    return epoll_ctl(loop, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static int loop_fd_open(const struct ripc_service *service)
{
    int loop = DESCRIPTOR_OPEN(epoll_create1(EPOLL_CLOEXEC));
    if (loop < 0)
        return -errno;
    int result = loop_fd_add(loop, service->bell.event_fd);
    if (result == 0)
        result = loop_fd_add(loop, poller_fd(service->ripc->poller));
    if (result == 0)
        return loop;
    descriptor_close(loop);
    return result;
}

int ripc_fd(struct ripc_service *service)
{
    struct ripc *ripc = service->ripc;
    if (!context_is_ours(ripc))
        return -ECHILD;
    if (!ripc->manual)
        return service->bell.event_fd;
    lock_take(&ripc->lock);
    if (service->loop_fd < 0)
        service->loop_fd = loop_fd_open(service);
    int result = service->loop_fd;
    lock_drop(&ripc->lock);
    return result;
}

int ripc_arm(struct ripc_service *service)
{
    struct ripc *ripc = service->ripc;
    if (!context_is_ours(ripc))
        return -ECHILD;
    if (ripc->manual && ripc_progress(ripc) < 0)
        return -ECHILD;
    lock_take(&ripc->lock);
    waiting_progress(ripc);
    doorbell_clear(&service->bell);
    doorbell_prepare(&service->bell, DOORBELL_FD);
    waiting_arm(ripc);
    remotes_collect(service);
    int result = service_has_events(service) || arrivals_wait(service) ? -EAGAIN : 0;
    if (result)
        doorbell_cancel(&service->bell);
    lock_drop(&ripc->lock);
    return result;
}
