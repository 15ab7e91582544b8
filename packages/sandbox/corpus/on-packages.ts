/** Attacks on packages and project layers. They are in packages/loader/corpus. */
export const ON_PACKAGES: readonly number[] = [
  193, 194, 195, 241, 242, 243, 244, 245, 246, 247, 248, 249, 250, 252, 253, 254, 255, 256, 257, 258, 360, 361,
]

/** Attacks on the host itself. They are in packages/host/corpus and its test. */
export const ON_HOST: readonly number[] = [368, 369, 374]
