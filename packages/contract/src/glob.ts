/**
 * Path patterns of requirements and rules. `*` stays inside one segment, `**` as a whole segment crosses any number of
 * them, everything else is literal. A pattern that names a folder covers the folder and all below it.
 * Linear in pattern × path: no regular expression is made from a stranger's text.
 */
export function matchGlob(pattern: string, path: string): boolean {
  return matchSegments(segments(pattern), segments(path))
}

const segments = (text: string): readonly string[] => text.split('/').filter((part, index) => part !== '' || index === 0)

function matchSegments(pattern: readonly string[], path: readonly string[]): boolean {
  // reachable[i]: the first i pattern segments can match what was read of the path so far.
  let reachable = closure(pattern, [true, ...pattern.map(() => false)])
  for (const name of path) {
    const next = pattern.map(() => false).concat(false)
    reachable.forEach((on, index) => {
      if (!on) return
      const part = pattern[index]
      if (part === undefined) next[index] = true // the pattern named a folder above
      else if (part === '**') next[index] = true
      else if (matchSegment(part, name)) next[index + 1] = true
    })
    reachable = closure(pattern, next)
    if (!reachable.includes(true)) return false
  }
  return reachable[pattern.length] === true
}

function closure(pattern: readonly string[], reachable: boolean[]): boolean[] {
  pattern.forEach((part, index) => {
    if (part === '**' && reachable[index]) reachable[index + 1] = true
  })
  return reachable
}

/** `*` inside one text, greedy with one point to go back to: linear for practical texts and never exponential. */
export function matchSegment(pattern: string, text: string): boolean {
  let at = 0
  let from = 0
  let star = -1
  let retry = 0
  while (from < text.length) {
    if (at < pattern.length && pattern[at] === '*') {
      star = at++
      retry = from
    } else if (at < pattern.length && pattern[at] === text[from]) {
      at++
      from++
    } else if (star >= 0) {
      at = star + 1
      from = ++retry
    } else {
      return false
    }
  }
  while (pattern[at] === '*') at++
  return at === pattern.length
}

/** Whether everything `narrow` matches is matched by `wide`. May say no too often, never yes wrongly. */
export function globCovers(wide: string, narrow: string): boolean {
  if (wide === narrow) return true
  const wideParts = segments(wide)
  const narrowParts = segments(narrow)
  const rest = wideParts.at(-1) === '**' ? wideParts.slice(0, -1) : wideParts
  if (rest.includes('**') || narrowParts.slice(0, rest.length).includes('**') || narrowParts.length < rest.length) return false
  return rest.every((part, index) => {
    const other = narrowParts[index]!
    return part === other || (!other.includes('*') && matchSegment(part, other)) || part === '*'
  })
}
