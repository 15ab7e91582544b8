import { Buffer } from 'node:buffer'

/** Names of the classes of `node:stream/web`. */
const CLASSES = [
  'ReadableStream', 'ReadableStreamDefaultReader', 'ReadableStreamDefaultController', 'WritableStream',
  'WritableStreamDefaultController', 'WritableStreamDefaultWriter', 'TransformStream',
  'TransformStreamDefaultController', 'ByteLengthQueuingStrategy', 'CountQueuingStrategy', 'TextEncoderStream',
  'TextDecoderStream',
]

/** `node:stream/web`: the same classes as the globals. */
export const webStreamModule = (): object =>
  Object.freeze(Object.fromEntries(CLASSES.map((name) => [name, (globalThis as Record<string, unknown>)[name]])))

async function buffer(stream: AsyncIterable<unknown>): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of stream) pieces.push(Buffer.from(piece as Uint8Array))
  return Buffer.concat(pieces)
}

/** `node:stream/consumers`. */
export const consumerModule = (): object => Object.freeze({
  buffer,
  bytes: async (stream: AsyncIterable<unknown>) => new Uint8Array(await buffer(stream)),
  arrayBuffer: async (stream: AsyncIterable<unknown>) => new Uint8Array(await buffer(stream)).buffer,
  text: async (stream: AsyncIterable<unknown>) => new TextDecoder().decode(await buffer(stream)),
  json: async (stream: AsyncIterable<unknown>) => JSON.parse(new TextDecoder().decode(await buffer(stream))) as unknown,
})
