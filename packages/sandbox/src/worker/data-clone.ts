import { types } from 'node:util'

/** The part of `node:v8` that is used. */
export type Serdes = Pick<typeof import('node:v8'), 'Serializer' | 'Deserializer'>

/**
 * A `structuredClone` for values of the language only. Node's own also clones Node's objects and rebuilds any internal class they
 * name: code could make an object that names a file by a descriptor of the process. V8 alone knows no such class.
 */
export function dataClone(serdes: () => Serdes): (value: unknown, options?: { readonly transfer?: readonly unknown[] }) => unknown {
  return (value, options) => {
    const moved = [...options?.transfer ?? []]
    if (!moved.every((one) => types.isArrayBuffer(one))) throw cannot('Only an ArrayBuffer can be transferred here.')
    const { Serializer, Deserializer } = serdes()
    const serializer = new Serializer()
    serializer.writeHeader()
    try {
      serializer.writeValue(value)
    } catch (error) {
      // V8 throws a plain Error; other errors come from accessors.
      throw types.isNativeError(error) && Object.getPrototypeOf(error) === Error.prototype ? cannot(error.message) : error
    }
    const deserializer = new Deserializer(serializer.releaseBuffer())
    deserializer.readHeader()
    const copy: unknown = deserializer.readValue()
    for (const buffer of moved) transfer.call(buffer)
    return copy
  }
}

const { transfer } = ArrayBuffer.prototype

const cannot = (why: string): DOMException => new DOMException(why, 'DataCloneError')
