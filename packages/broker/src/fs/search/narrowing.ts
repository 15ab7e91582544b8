/** A name that means to ripgrep what it means here. */
const PLAIN_NAME = /^[\w.*{},-]+$/

/**
 * What spares ripgrep the files whose name a pattern over paths cannot match; nothing where it may read the pattern
 * otherwise. As a type and not as a glob, which would bring back what ignore files leave out.
 */
export function narrowing(pattern: string): readonly string[] {
  const name = pattern.slice(pattern.lastIndexOf('/') + 1)
  const isWhole = name === pattern || !/[{}]/.test(pattern)
  const tells = PLAIN_NAME.test(name) && !/^(?:\*+|\.+)$|\*\*/.test(name)
  return isWhole && tells ? [`--type-add=wanted:${name}`, '--type=wanted'] : []
}
