/* SPDX-License-Identifier: MIT */
/*
 * Numbers of which the first is drawn most often.
 */
#ifndef WEIR_BENCH_ZIPF_H
#define WEIR_BENCH_ZIPF_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>

namespace weir_bench
{

/* Ranks from 0, Zipf, by rejection-inversion (Hoermann, Derflinger,
   "Rejection-inversion to generate variates from monotone discrete distributions", 1996). */
class zipf
{
  public:
    zipf(uint64_t keys, double exponent) : s(exponent), n(static_cast<double>(keys))
    {
        low = integral(1.5) - 1;
        high = integral(n + 0.5);
        cut = 2 - inverse(integral(2.5) - std::pow(2, -s));
    }

    template <class generator> uint64_t operator()(generator &random)
    {
        for (;;) {
            double u = high + std::generate_canonical<double, 53>(random) * (low - high);
            double x = inverse(u);
            double k = std::min(std::max(std::floor(x + 0.5), 1.0), n);
            if (k - x <= cut || u >= integral(k + 0.5) - std::pow(k, -s))
                return static_cast<uint64_t>(k) - 1;
        }
    }

  private:
    double integral(double x) const
    {
        return s == 1 ? std::log(x) : (std::pow(x, 1 - s) - 1) / (1 - s);
    }
    double inverse(double x) const
    {
        return s == 1 ? std::exp(x) : std::pow(1 + x * (1 - s), 1 / (1 - s));
    }
    double s, n, low, high, cut;
};

} // namespace weir_bench

#endif
