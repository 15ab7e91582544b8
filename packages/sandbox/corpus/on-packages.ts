/** Numbers that are attacks on packages and project layers and not on compartments: packages/loader/corpus has them. */
export const ON_PACKAGES: readonly number[] = [
  193, 194, 195, 241, 242, 243, 244, 245, 246, 247, 248, 249, 250, 252, 253, 254, 255, 256, 257, 258, 360, 361,
]

/** Numbers that are attacks on the host itself: packages/host/corpus and its test have them. */
export const ON_HOST: readonly number[] = [368, 369, 374]
