/* What a shared object says of its service, and must not. The object that is loaded is this
 * program itself, whose weft_service each test fills as it likes. */
#include <string.h>

#include "base/test.h"
#include "os/plugin.h"

#define ITSELF "" /* the loader's name of it */

/* Not constant, as it is in an object that is loaded. */
extern WEFT_API struct weft_service weft_service;
struct weft_service weft_service;

static const struct weft_service_ops ops = {0};
static const struct weft_service good = {
    .version = WEFT_SERVICE_VERSION, .name = "plugged", .id = 256, .ops = &ops};

static void refused(const char *reason)
{
    struct plugins plugins = {0};
    struct why why = {0};
    assert_int_equal(plugins_add(&plugins, ITSELF, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, reason));
    assert_int_equal(plugins.count, 0);
}

static void services_that_cannot_be_are_refused(void **state)
{
    weft_service = good;
    weft_service.version++;
    refused("made for version");
    weft_service = good;
    weft_service.name = NULL;
    refused("has no name or no functions");
    weft_service.name = "";
    refused("has no name or no functions");
    weft_service = good;
    weft_service.ops = NULL;
    refused("has no name or no functions");
    weft_service = good;
    weft_service.id--;
    refused("those below 256 are weft's own");
}

static void what_is_no_object_is_refused(void **state)
{
    struct plugins plugins = {0};
    struct why why = {0};
    assert_int_equal(plugins_add(&plugins, "/nowhere/at/all.so", &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "/nowhere/at/all.so"));
}

static void there_is_an_end_of_what_is_loaded(void **state)
{
    struct plugins plugins = {0};
    struct why why = {0};
    weft_service = good;
    for (unsigned i = 0; i < PLUGINS_MAX; i++)
        assert_int_equal(plugins_add(&plugins, ITSELF, &why), OK);
    assert_ptr_equal(plugins.services[0], &weft_service);
    assert_int_equal(plugins_add(&plugins, ITSELF, &why), ERR_USAGE);
    plugins_fini(&plugins);
    assert_int_equal(plugins.count, 0);
}

TEST_MAIN(TEST(services_that_cannot_be_are_refused), TEST(what_is_no_object_is_refused),
          TEST(there_is_an_end_of_what_is_loaded))
