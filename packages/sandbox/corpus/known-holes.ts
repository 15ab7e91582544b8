/** Attacks that are not contained although they must be, each with what is wrong. One that is contained must leave the list. */
export const KNOWN_HOLES: ReadonlyMap<number, string> = new Map([
  [275, 'the names that code offers are repeated in the error of the host, however many they are'],
  [276, 'the names that code offers are repeated in the error of the host, however long they are and whatever is in them'],
])

/** Numbers that are attacks on packages: the loader withstands them, in packages/loader/corpus. */
export const ON_PACKAGES: readonly number[] = [
  193, 194, 195, 241, 242, 243, 244, 245, 246, 247, 248, 249, 250, 252, 253, 254, 255, 256, 257, 258,
]
