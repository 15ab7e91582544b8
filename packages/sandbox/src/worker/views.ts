import { types } from 'node:util'

/** Taken now: what runs later in this thread may have put something else in its place. */
const { apply } = Reflect
const { getOwnPropertyDescriptor, getPrototypeOf } = Object
const { isDataView } = types
const Bytes = Uint8Array

interface Facts {
  readonly buffer: () => unknown
  readonly start: () => unknown
  readonly length: () => unknown
}
const OF_ARRAY = factsOf(getPrototypeOf(Uint8Array.prototype) as object)
const OF_DATA_VIEW = factsOf(DataView.prototype)

function factsOf(prototype: object): Facts {
  const getter = (name: string): () => unknown => getOwnPropertyDescriptor(prototype, name)!.get!
  return { buffer: getter('buffer'), start: getter('byteOffset'), length: getter('byteLength') }
}

/** The bytes of a view, whatever it says of itself by properties of its own. Contract: throws for what is no view. */
export function sameBytes(view: ArrayBufferView): Uint8Array<ArrayBuffer> {
  const { buffer, start, length } = isDataView(view) ? OF_DATA_VIEW : OF_ARRAY
  return new Bytes(apply(buffer, view, []) as ArrayBuffer, apply(start, view, []) as number, apply(length, view, []) as number)
}
