/** A value in a text that looks like JSON. */
export interface FoundJson {
  readonly json: string
  /** Whether the text before it says that it is a tool call. */
  readonly isMarked: boolean
  /** The span of the value with its fence or tag. */
  readonly start: number
  readonly end: number
}

const MARK_CHARS = 80
/** Directly before a value: a fence with its language, a tag, or the mark that some models are trained on. */
const BEFORE = [
  /(?:^|\n)[ \t]{0,3}(?:`{3,9}|~{3,9})[ \t]{0,3}([\w-]{0,20})[ \t]{0,3}\n\s{0,20}$/, /<([a-z_]{1,20})>\s{0,20}$/,
  /\[(TOOL_CALLS)\]\s{0,20}$/,
] as const
const MARKS: ReadonlySet<string | undefined> = new Set([
  'tool_call', 'tool_calls', 'tool', 'tool_code', 'tool_use', 'function_call', 'function_calls', 'TOOL_CALLS',
])
const CLOSING = /\s{0,20}(?:`{3,9}|~{3,9}|<\/[a-z_]{1,20}>)/y
const BETWEEN = /^[\s,]*$/
/** The beginning of an object, or of a list of objects. */
const OPENING = /\{(?=\s{0,99}["}])|\[(?=\s{0,99}[{\]])/g
/** Outside of strings JSON has brackets, numbers, `true`, `false` and `null`. */
const OUTSIDE = /[\s,:\d.+\-Eaeflnrstu]/

/**
 * The outermost values in a text that look like JSON objects, or lists of them. Invalid ones end where they stop being
 * JSON. Contract: reads every character a fixed number of times.
 */
export function jsonValues(text: string): readonly FoundJson[] {
  const values: FoundJson[] = []
  let last = 0
  let isMarked = false
  OPENING.lastIndex = 0
  for (let match = OPENING.exec(text); match !== null; match = OPENING.exec(text)) {
    const { index } = match
    const stop = endOfValue(text, index)
    const before = text.slice(Math.max(last, index - MARK_CHARS), index)
    const mark = BEFORE.map((form) => form.exec(before)).find((found) => found !== null)
    // One fence may contain several calls.
    const isNext = mark === undefined && values.length > 0 && BETWEEN.test(text.slice(last, index))
    if (!isNext) isMarked = MARKS.has(mark?.[1])
    CLOSING.lastIndex = stop
    const end = CLOSING.test(text) ? CLOSING.lastIndex : stop
    values.push({ json: text.slice(index, stop), isMarked, start: index - (mark?.[0].length ?? 0), end })
    last = end
    OPENING.lastIndex = end
  }
  return values
}

/** Where a value ends, or where it stops being JSON. */
function endOfValue(text: string, start: number): number {
  let depth = 0
  let isString = false
  for (let index = start; index < text.length; index++) {
    const char = text[index]!
    if (isString) {
      if (char === '\\') index++
      else if (char === '"') isString = false
      else if (char === '\n') return index
    } else if (char === '"') isString = true
    else if (char === '{' || char === '[') {
      depth++
    } else if (char === '}' || char === ']') {
      if (--depth === 0) return index + 1
    } else if (!OUTSIDE.test(char)) return index
  }
  return text.length
}
