"""How far one record that takes part in several steps can move C x: the sensitivity of a matrix mechanism, computed.

x has a row for every step, the sum of what the records in it contribute; C, the strategy, says what is measured. A
record that takes part in the steps of a pattern p contributes a vector of l2 norm at most 1 to each of them, and
moves C x by

    |sum over t in p of C_t g_t'|_F^2 = sum over s, t in p of (C'C)_st <g_s, g_t> <= sum over s, t in p of |(C'C)_st|,

C_t being column t; with equal g's this is attained where no entry of C'C is negative. `Schedule` says which patterns
there are, and the other files take the maximum over them, for several kinds of C: bounds from below and above,
squared, as exact fractions. They agree where the maximum is known. Proofs: docs/proofs/correlated-noise.md.
"""
