import { pointerStep } from './json.ts'

/** A value in a text. `children` are the items of a list or the members of an object. */
interface Span {
  readonly start: number
  readonly end: number
  readonly pointer: string
  readonly children: readonly Span[]
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g

/** The values of a text. Contract: the text is valid JSON. */
function spansIn(text: string): Span {
  const tokens = [...text.matchAll(TOKEN)]
  let next = 0
  const take = (): RegExpExecArray => tokens[next++]!
  const isNext = (token: string): boolean => tokens[next]?.[0] === token
  const endOf = (token: RegExpExecArray): number => token.index + token[0].length

  /** `start` of a member is that of its name. */
  const read = (pointer: string, start?: number): Span => {
    const first = take()
    const isObject = first[0] === '{'
    const close = isObject ? '}' : ']'
    const children: Span[] = []
    if (!isObject && first[0] !== '[') return { start: start ?? first.index, end: endOf(first), pointer, children }
    while (!isNext(close)) {
      const name = isObject ? take() : undefined
      const step = name === undefined ? children.length : JSON.parse(name[0]) as string
      if (name !== undefined) next++
      children.push(read(pointer + pointerStep(step), name?.index))
      if (isNext(',')) next++
    }
    return { start: start ?? first.index, end: endOf(take()), pointer, children }
  }
  return read('')
}

/** The line of a value, or of the nearest one around it. Contract: the text is valid JSON. */
export function placeInJson(text: string, pointer: string): number {
  let found = spansIn(text)
  for (;;) {
    const inner = found.children.find((child) => pointer === child.pointer || pointer.startsWith(`${child.pointer}/`))
    if (inner === undefined) return text.slice(0, found.start).split('\n').length
    found = inner
  }
}

/** The line of each child of a value. None if there is no such value. Contract: the text is valid JSON. */
export function childLinesInJson(text: string, pointer: string): readonly number[] {
  const found = spansIn(text).children.find((child) => child.pointer === pointer)
  return (found?.children ?? []).map(({ start }) => text.slice(0, start).split('\n').length)
}

/**
 * Removes values from JSON, and keeps the rest as it is written. Lists and objects that become empty are removed too,
 * except the outermost. Contract: the text is valid JSON; pointers that lead nowhere are ignored.
 */
export function removeJson(text: string, pointers: ReadonlySet<string>): string {
  /** The text of a value without what is removed, or undefined if nothing is left. */
  const write = ({ start, end, pointer, children }: Span): string | undefined => {
    if (pointers.has(pointer)) return undefined
    const [first] = children
    if (first === undefined) return text.slice(start, end)
    // Each child takes along what separates it from the one before it.
    const kept = children.flatMap((child, index) => {
      const written = write(child)
      const before = text.slice(children[index - 1]?.end ?? start, child.start)
      return written === undefined ? [] : [[before, written] as const]
    })
    if (kept.length === 0) return undefined
    const opening = text.slice(start, first.start)
    return opening + kept.map(([before, written], index) => (index === 0 ? '' : before) + written).join('')
      + text.slice(children.at(-1)!.end, end)
  }

  const whole = spansIn(text)
  const left = write(whole) ?? (text[whole.start] === '[' ? '[]' : '{}')
  return text.slice(0, whole.start) + left + text.slice(whole.end)
}
