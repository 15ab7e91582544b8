import { types } from 'node:util'
import { sameBytes } from './views.ts'

/** Taken now: what runs later in this thread may have put something else in its place. */
const { isFloat16Array, isFloat32Array, isFloat64Array, isTypedArray } = types

/**
 * The part of `crypto` that a compartment has. Node asks an array for its length, which may be a property of its own, and
 * native code ends the process, that of the host in a thread, unless it is a number: so it never sees that array.
 */
export function randomness(source: () => Crypto): Pick<Crypto, 'getRandomValues' | 'randomUUID'> {
  return Object.freeze({
    randomUUID: () => source().randomUUID(),
    getRandomValues<Values extends Parameters<Crypto['getRandomValues']>[0]>(array: Values): Values {
      // Node says what is wrong with an array that is none, or not of whole numbers.
      if (!isTypedArray(array) || isFloating(array)) source().getRandomValues(array)
      else source().getRandomValues(sameBytes(array))
      return array
    },
  })
}

const isFloating = (array: unknown): boolean => isFloat16Array(array) || isFloat32Array(array) || isFloat64Array(array)
