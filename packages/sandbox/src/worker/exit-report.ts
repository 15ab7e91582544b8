import process from 'node:process'
import { toWireError } from '../wire/remote-error.ts'

/** Taken now: what runs later in this thread may have put something else in its place. */
const { defineProperty } = Object
const Words = Error

type Fatal = (thrown: unknown, fromPromise: boolean) => boolean

/**
 * What nobody caught ends the thread, and Node rebuilds it in the parent out of the properties it had, some of which make that
 * fail: there nobody catches it, and the host ends. From here on the parent is sent an error of ours with the same text.
 */
export function plainLastWords(): void {
  const insides = process as unknown as { _fatalException: Fatal }
  // oxlint-disable-next-line eslint/no-underscore-dangle -- Node's own name, by which it looks for it each time
  const fatal = insides._fatalException
  defineProperty(process, '_fatalException', {
    value: (thrown: unknown, fromPromise: boolean) => fatal(plain(thrown), fromPromise),
    writable: false,
    configurable: false,
  })
}

function plain(thrown: unknown): Error {
  const words = new Words(messageOf(thrown))
  // Made by us: to have Node make it would be to ask code of the extension.
  defineProperty(words, 'stack', { value: words.message })
  return words
}

function messageOf(thrown: unknown): string {
  try {
    return toWireError(thrown).message
  } catch {
    return 'threw something that cannot be read'
  }
}
