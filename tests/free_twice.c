/* Freeing memory of ripc_alloc twice: the second call returns -EALREADY for every size, also if the
 * library has given the memory back to the system. */
#include <errno.h>
#include <stdio.h>
#include <weft/ripc.h>

int main(void)
{
    static const size_t sizes[] = {1, 5000, 300000, 5u << 20, 300u << 20};
    struct ripc *ripc;
    int failed = 0;
    if (ripc_open(NULL, &ripc) < 0)
        return 1;
    printf("1..%zu\n", sizeof sizes / sizeof *sizes);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        void *data = ripc_alloc(ripc, sizes[i]);
        int first = data ? ripc_free(ripc, data) : -ENOMEM;
        int second = ripc_free(ripc, data);
        int right = first == 0 && second == -EALREADY;
        printf("%s %zu - %zu bytes: %d, then %d\n", right ? "ok" : "not ok", i + 1, sizes[i], first,
               second);
        failed |= !right;
    }
    ripc_close(ripc, RIPC_NOW);
    return failed;
}
