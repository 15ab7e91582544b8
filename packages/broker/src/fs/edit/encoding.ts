import { isUtf8 } from 'node:buffer'
import { BulkheadError } from '@bulkhead/contract'

/** A file as UTF-8, or as the bytes it has where it is in no encoding that is known here. */
export interface OpenedText {
  readonly bytes: Buffer
  readonly isUtf8: boolean
  /** Back into the encoding of the file. */
  close(bytes: Buffer): Buffer
}

const LITTLE = Buffer.from([0xff, 0xfe])
const BIG = Buffer.from([0xfe, 0xff])

/** Throws InputInvalid for UTF-16 that is broken: it could not be written back as it was. */
export function openText(bytes: Buffer, path: string): OpenedText {
  const mark = bytes.subarray(0, 2)
  const big = mark.equals(BIG)
  if (!big && !mark.equals(LITTLE)) return { bytes, isUtf8: isUtf8(bytes), close: (changed) => changed }
  const text = bytes.length % 2 === 0 ? (big ? Buffer.from(bytes).swap16() : bytes).toString('utf16le') : ''
  if (text === '' || !text.isWellFormed()) {
    throw new BulkheadError('InputInvalid', `"${path}" begins like UTF-16 and is not. Write it as a whole.`)
  }
  const close = (changed: Buffer): Buffer => {
    const encoded = Buffer.from(changed.toString('utf8'), 'utf16le')
    return big ? encoded.swap16() : encoded
  }
  return { bytes: Buffer.from(text), isUtf8: true, close }
}
