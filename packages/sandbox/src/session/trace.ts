import type { CodeOrigins, CompartmentCode, WrittenPlace } from '@bulkhead/contract'

/** A function call on the way to an error, in a file of the extension. */
export interface TraceFrame extends WrittenPlace {
  /** As V8 names it, such as `async execute`. Empty at the top level of a module. */
  readonly name: string
}

/** An error, and how the code of the extension got there. */
export interface TracedError {
  readonly message: string
  readonly frames: readonly TraceFrame[]
}

const MAX_FRAMES = 50
/** Longer lines are no frames of V8. The limit bounds the time of the search. */
const LINE_CHARS = 2_000
const FRAME = /^ {4}at (?:(.*) \()?(?:async )?tool:\/\/[^/\s]+\/([^\s]+):(\d+):(\d+)\)?$/

/**
 * The error and its causes, as far as they come from the code of the extension. A stack is text of the compartment: its
 * places are looked up in the source map, and no file is read. Frames of Node and of this project are left out.
 */
export function traceOf(error: unknown, code: CompartmentCode): readonly TracedError[] {
  if (code.kind === 'module') return []
  const traced: TracedError[] = []
  for (let at = error; at instanceof Error; at = at.cause) {
    const frames = framesOf(at.stack ?? '', code.origins)
    const isNew = frames.length > 0 && traced.every((other) => !isSamePlace(other.frames[0]!, frames[0]!))
    if (isNew) traced.push({ message: at.message, frames })
  }
  return traced
}

function framesOf(stack: string, origins: CodeOrigins | undefined): readonly TraceFrame[] {
  return stack.split('\n', MAX_FRAMES).flatMap((line) => {
    const [, name = '', url = '', at, column] = (line.length <= LINE_CHARS && FRAME.exec(line)) || []
    if (url === '') return []
    const [file, atLine, atColumn] = [decoded(url), Number(at), Number(column)]
    if (origins === undefined) return [{ name, file, line: atLine, column: atColumn }]
    const written = origins.placeOf(file, atLine, atColumn)
    return written === undefined ? [] : [{ ...written, name }]
  })
}

const isSamePlace = (one: TraceFrame, other: TraceFrame): boolean =>
  one.file === other.file && one.line === other.line && one.column === other.column

/** Modules have escaped characters in their URLs. */
function decoded(url: string): string {
  try {
    return decodeURIComponent(url)
  } catch {
    return url
  }
}
