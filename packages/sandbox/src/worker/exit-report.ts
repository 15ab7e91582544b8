import process from 'node:process'
import { toWireError } from '../wire/errors.ts'

/** Captured before extension code runs, which could replace them. */
const { defineProperty } = Object
const PlainError = Error

type Fatal = (thrown: unknown, fromPromise: boolean) => boolean

/**
 * Node sends an uncaught error to the parent thread and rebuilds it from its properties. Some properties make that throw in the
 * parent, where it would end the host. After this call the parent gets a plain error with the same message.
 */
export function reportPlainErrors(): void {
  const internals = process as unknown as { _fatalException: Fatal }
  // oxlint-disable-next-line eslint/no-underscore-dangle -- Node looks it up by this name each time
  const fatal = internals._fatalException
  defineProperty(process, '_fatalException', {
    value: (thrown: unknown, fromPromise: boolean) => fatal(plain(thrown), fromPromise),
    writable: false,
    configurable: false,
  })
}

function plain(thrown: unknown): Error {
  const error = new PlainError(messageOf(thrown))
  // Set here: computing it could run code of the extension.
  defineProperty(error, 'stack', { value: error.message })
  return error
}

function messageOf(thrown: unknown): string {
  try {
    return toWireError(thrown).message
  } catch {
    return 'threw a value that cannot be read'
  }
}
