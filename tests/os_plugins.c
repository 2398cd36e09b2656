/* Checks which services of shared objects are refused. The loaded object is this program itself,
 * whose weft_service each test fills in. */
#include <string.h>

#include "base/test.h"
#include "os/plugin.h"

#define ITSELF "" /* the loader's name for it */

/* Not constant, unlike in a loaded object. */
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

static void invalid_services_are_refused(void **state)
{
    weft_service = good;
    weft_service.version++;
    refused("built for version");
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
    refused("ids below 256 are reserved for weft");
}

static void a_missing_object_is_refused(void **state)
{
    struct plugins plugins = {0};
    struct why why = {0};
    assert_int_equal(plugins_add(&plugins, "/nowhere/at/all.so", &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "/nowhere/at/all.so"));
}

static void at_most_a_fixed_number_of_services_is_loaded(void **state)
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

TEST_MAIN(TEST(invalid_services_are_refused), TEST(a_missing_object_is_refused),
          TEST(at_most_a_fixed_number_of_services_is_loaded))
