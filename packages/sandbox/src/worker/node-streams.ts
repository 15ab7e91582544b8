import { syncBuiltinESMExports } from 'node:module'
import stream, { Duplex, PassThrough, Readable, Transform, Writable } from 'node:stream'
import { freezeParts } from './freeze.ts'

/** Captured before extension code runs, which could replace them. */
const { assign } = Object
const { deleteProperty } = Reflect

const CLASSES = [stream, Readable, Writable, Duplex, Transform, PassThrough] as const
let isLocked = false

/**
 * Locks down `node:stream` before an extension gets it: that takes as long as a tenth of the rest, and few extensions
 * use it. Libraries, and parts of Node that load later, assign `_read`, `_write` and others on derived prototypes.
 */
export function lockNodeStreams(): void {
  if (isLocked) return
  const prototypes = CLASSES.map(({ prototype }) => prototype as object)
  // The conversions are not to the web streams of a compartment. The two that libraries use are replaced.
  for (const one of [Readable, Writable, Duplex]) for (const name of ['fromWeb', 'toWeb']) deleteProperty(one, name)
  assign(Readable, { fromWeb, toWeb })
  // Of all streams, those of this thread included.
  deleteProperty(stream, 'setDefaultHighWaterMark')
  syncBuiltinESMExports()
  freezeParts([...CLASSES, stream.promises, ...states()], prototypes)
  isLocked = true
}

/** The classes of the state of a stream. The channel to the host is a stream too. */
function states(): readonly object[] {
  return [new Readable(), new Writable()].flatMap((one) => {
    const { _readableState, _writableState } = one as unknown as Readonly<Record<string, object | undefined>>
    return [_readableState, _writableState].flatMap((state) => state === undefined ? [] : [state.constructor])
  })
}

type Options = { readonly objectMode?: boolean; readonly highWaterMark?: number; readonly signal?: AbortSignal }

const fromWeb = (values: AsyncIterable<unknown>, { objectMode = false, ...rest }: Options = {}): Readable =>
  Readable.from(values, { ...rest, objectMode })

function toWeb(readable: Readable): ReadableStream {
  const values = readable[Symbol.asyncIterator]()
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await values.next() as IteratorResult<unknown, undefined>
      if (done === true) controller.close()
      // A Buffer can be a part of memory that others use.
      else controller.enqueue(value instanceof Uint8Array ? new Uint8Array(value) : value)
    },
    async cancel() {
      await values.return?.()
    },
  }, { highWaterMark: 0 })
}
