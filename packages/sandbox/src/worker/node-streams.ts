import stream, { Duplex, PassThrough, Readable, Transform, Writable } from 'node:stream'

const { deleteProperty } = Reflect

/** The state of a stream. The transport of this thread is a stream too, so its class must not be changed. */
const states = [new Readable(), new Writable()].flatMap((one): object[] => {
  const { _readableState, _writableState } = one as unknown as Readonly<Record<string, object | undefined>>
  return [_readableState, _writableState].flatMap((state) => state === undefined ? [] : [state.constructor])
})

/** Frozen with the rest. */
export const STREAM_CLASSES: readonly object[] = [stream, Readable, Writable, Duplex, Transform, PassThrough, ...states]

/** Libraries, and parts of Node that load later, assign `_read`, `_write` and others on derived prototypes. */
export const STREAM_PROTOTYPES: readonly object[] = [stream, Readable, Writable, Duplex, Transform, PassThrough]
  .map(({ prototype }) => prototype as object)

/**
 * Removes the conversions from and to web streams, which are not those of a compartment. The two that libraries use are
 * replaced.
 */
export function trimNodeStreams(): void {
  for (const one of [Readable, Writable, Duplex]) for (const name of ['fromWeb', 'toWeb']) deleteProperty(one, name)
  Object.assign(Readable, { fromWeb, toWeb })
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
