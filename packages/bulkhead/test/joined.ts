/** One expression from several that would be too long for a line. It has the flags of the last. */
export function joined(...parts: readonly RegExp[]): RegExp {
  return new RegExp(parts.map(({ source }) => source).join(''), parts.at(-1)!.flags)
}
