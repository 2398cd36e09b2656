#include "measured/sample.h"

#include "base/test.h"

static void a_sample_has_a_mean_a_deviation_and_percentiles(void **state)
{
    double values[] = {4, 2, 4, 5, 4, 5, 7, 9};
    struct sample sample = sample_of(values, 8);
    assert_within(sample.mean, 5, 1e-12);
    assert_within(sample.deviation, 2, 1e-12);
    assert_within(sample.median, 4.5, 1e-12);
    assert_within(sample.high, 9, 1e-12);
    assert_within(sample.worst, 9, 1e-12);
    assert_true(isnan(sample_of(values, 0).mean));
    assert_true(isnan(sample_median(values, 0)));
    assert_within(sample_median((double[]){3, 1, 2}, 3), 2, 1e-12);
}

static void the_slowest_hundredth_does_not_change_the_mean(void **state)
{
    double values[2000];
    for (int i = 0; i < 2000; i++)
        values[i] = i % 2;
    values[7] = values[1234] = 1e9;
    struct sample sample = sample_of(values, 2000);
    assert_within(sample.mean, 981. / 1980, 1e-3);
    assert_true(sample.deviation < 0.51);
    assert_within(sample.high, 1, 1e-12);
    assert_within(sample.worst, 1e9, 1e-12);
}

static void a_fitted_line_reports_how_well_it_fits(void **state)
{
    double x[] = {1, 2, 3, 4, 5}, y[] = {5, 7, 9, 11, 13}, bent[] = {1, 4, 1, 4, 1};
    struct sample_line line = sample_line_of(x, y, 5);
    assert_within(line.base, 3, 1e-12);
    assert_within(line.slope, 2, 1e-12);
    assert_within(line.share, 1, 1e-12);
    line = sample_line_of(x, bent, 5);
    assert_within(line.slope, 0, 1e-12);
    assert_within(line.share, 0, 1e-12);
    assert_within(sample_line_of(x, (double[]){2, 2, 2, 2, 2}, 5).share, 1, 1e-12);
    assert_true(isnan(sample_line_of(x, y, 1).slope));
    y[3] = NAN;
    assert_true(isnan(sample_line_of(x, y, 5).share));
}

TEST_MAIN(TEST(a_sample_has_a_mean_a_deviation_and_percentiles),
          TEST(the_slowest_hundredth_does_not_change_the_mean),
          TEST(a_fitted_line_reports_how_well_it_fits))
